export {
  type CrossedEstimate,
  crossedEstimate,
  crossedMean,
  meanOfTable,
  ratioOfMeans,
} from './crossed-mean.js'
export {
  mean,
  median,
  quantile,
  quantileOfSorted,
  tukeyOutliers,
  variance,
  weightedMean,
} from './descriptive.js'
export {
  normalCdf,
  studentQuantile,
  studentTail,
} from './distributions.js'
export {byGroups, linearised, type MeanInterval, overDrawsAndTexts} from './draws-and-texts.js'
export {
  type Estimate,
  factorOf,
  type Interval,
  mapped,
  ratioOf,
  weightedSum,
} from './estimate.js'
export {logLogSlope, type PowerLaw} from './fits.js'
export {hodgesLehmann, pseudomedian} from './hodges-lehmann.js'
export {holm} from './holm.js'
export {ratioPValue} from './interval-test.js'
export {heightAmong, heightAt, type LogLine, passesOne} from './log-lines.js'
export {LEAST_FOR_INTERVAL, medianInterval} from './median-interval.js'
export {bonferroniZ, normalQuantile, Z95} from './normal.js'
export {pairMeanError} from './pair-mean.js'
export {logRatios, pairedRatio} from './paired.js'
export {paretoFront} from './pareto.js'
export {LEAST_EFFICIENCY, pairsNeeded, studentNoncentrality, studentPower} from './power.js'
export {leaning, type SharedVariance, sharedVariance} from './shared-variance.js'
export {LEAST_FOR_FLIPS, type SignFlipOptions, signFlips} from './sign-flips.js'
export {signedRank} from './signed-rank.js'
export {spearman} from './spearman.js'
export {studentTest} from './student-test.js'
export {
  finiteOrNull,
  type MetricSummary,
  summarise,
} from './summarise.js'
export {pairedSuperiority, superiority} from './superiority.js'
export {
  logInterval,
  ratioStandardError,
  sampleKurtosis,
  squaresCorrelation,
} from './variance-interval.js'
export {weightedLine} from './weighted-line.js'
export {welchTest} from './welch.js'
