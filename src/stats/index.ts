export type {BootstrapOptions, Interval} from './bootstrap.js'
export {mean, median, quantile, quantileOfSorted, tukeyOutliers, variance} from './descriptive.js'
export {logLogSlope, type PowerLaw, slopeInterval} from './fits.js'
export {LEAST_FOR_INTERVAL, medianInterval} from './median-interval.js'
export {bonferroniZ, normalQuantile} from './normal.js'
export {pairMeanError} from './pair-mean.js'
export {
  finiteOrNull,
  type MetricSummary,
  type SummariseOptions,
  summarise,
} from './summarise.js'
export {
  logInterval,
  ratioStandardError,
  sampleKurtosis,
  squaresCorrelation,
} from './variance-interval.js'
