// Package audit looks for faults of predictions and of the rows for which they were made: slices of the rows whose
// intervals do not hold, inputs that are not distributed as in the training, exchanged columns, copied rows and others. It
// also judges rules such as coverage95>=0.93.
package audit
