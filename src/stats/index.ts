export {
  mean,
  median,
  type Outliers,
  quantile,
  quantileOfSorted,
  tukeyOutliers,
  variance,
} from './descriptive.js'
export {
  type Estimate,
  factorOf,
  type Interval,
  mapped,
  ratioOf,
  weightedSum,
} from './estimate.js'
export {logLogSlope, type PowerLaw, slopeEstimate} from './fits.js'
export {LEAST_FOR_INTERVAL, medianInterval, seriesMedianInterval} from './median-interval.js'
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
