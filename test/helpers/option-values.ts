/** Values of options off their defaults: those that `rfa check` tries. */
export * from '../../src/check/checks/option-values.js'
