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
  binomialTail,
  chiSquareTail,
  fTail,
  normalCdf,
  studentCdf,
  studentQuantile,
  studentTail,
} from './distributions.js'
export {
  type Estimate,
  factorOf,
  type Interval,
  mapped,
  ratioOf,
  weightedSum,
} from './estimate.js'
export {logLogSlope, type PowerLaw, slopeEstimate} from './fits.js'
export {hodgesLehmann} from './hodges-lehmann.js'
export {holm} from './holm.js'
export {LEAST_FOR_INTERVAL, medianInterval, seriesMedianInterval} from './median-interval.js'
export {bonferroniZ, normalQuantile} from './normal.js'
export {pairMeanError} from './pair-mean.js'
export {
  type Equivalence,
  type EquivalenceOptions,
  equivalence,
  logRatios,
  type PairedDifference,
  type PairedRatio,
  pairedDifference,
  pairedRatio,
} from './paired.js'
export {type SignedRankOptions, type SignedRankTest, signedRank} from './signed-rank.js'
export {type StudentOptions, type StudentTest, studentTest} from './student-test.js'
export {
  finiteOrNull,
  type MetricSummary,
  type SummariseOptions,
  summarise,
} from './summarise.js'
export type {Alternative, TestOptions} from './tests.js'
export {
  logInterval,
  ratioStandardError,
  sampleKurtosis,
  squaresCorrelation,
} from './variance-interval.js'
