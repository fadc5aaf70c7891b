/** Arrays of the suites: those of `rfa check`. */
export * from '../../src/check/calls/arrays.js'
