package main

// Main is main for the tests outside the package: their binary also runs as the command.
func Main() { main() }
