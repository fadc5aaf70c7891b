/** Flags as the parser leaves them when nothing was typed. */
export const ERROR_SWEEP_FLAGS = {quick: false, causal: false, 'row-metrics': false}
export const BENCH_FLAGS = {quick: false, causal: false, baseline: true}
export const VARIANCE_FLAGS = {quick: false}
