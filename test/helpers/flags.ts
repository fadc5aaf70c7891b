/** Flags as the parser leaves them when nothing was typed. */
const RUN = {
  quick: false,
  'dry-run': false,
  ...{force: false, resume: false, profile: false, details: false},
}
export const ERROR_SWEEP_FLAGS = {...RUN, causal: false, 'row-metrics': false}
export const BENCH_FLAGS = {
  ...RUN,
  ...{exact: true, samples: false, breakdown: false, strict: false},
}
export const VARIANCE_FLAGS = RUN
export const SWAP_FLAGS = RUN
export const TRAIN_FLAGS = RUN
export const TUNE_FLAGS = RUN
