// Package cputime tells the processor time that this process has taken.
package cputime
