/** Means over draws and texts that are crossed, as records hold them: every draw reads every text. */
import {crossedMean} from './crossed-mean.js'
import {mean, weightedMean} from './descriptive.js'
import {finiteOrNull} from './summarise.js'

/** A mean with its 95 % interval; `null`: not known. */
export interface MeanInterval {
  mean: number | null
  low: number | null
  high: number | null
}

/**
 * The mean of a table with its 95 % interval over rows and columns: another study would draw other features and read other texts.
 * A single row, of a method without draws, adds no variance. See `crossedMean`.
 *
 * Where texts count by their tokens the mean is a ratio of two sums over texts, of losses and of tokens: R = sum n_t x_t / sum n_t.
 * Both vary with the texts. To first order R differs from its expectation by the mean of n_t (x_t - R) / mean(n), which has the
 * variance of a mean over texts (linearised: W. G. Cochran, Sampling Techniques, 1977, section 6.4).
 *
 * @param table - a row for each draw, in it a mean for each text
 * @param tokens - n, how much each text counts. Default: all alike
 */
export function overDrawsAndTexts(
  table: readonly (readonly number[])[],
  tokens?: readonly number[],
): MeanInterval {
  const weights = tokens ?? table[0]!.map(() => 1)
  const draws = table.map(row => weightedMean(row, weights))
  const [center, average] = [mean(draws), mean(weights)]
  const texts = weights.map((weight, at) => {
    const own = mean(table.map(row => row[at]!))
    return center + (weight / average) * (own - center)
  })
  return intervalOf(center, [draws, texts])
}

/**
 * The same of a statistic of all texts together: over draws by its values, over texts by leaving out one group of texts after
 * another (delete-a-group jackknife).
 *
 * @param draws - the statistic of each draw
 * @param without - the mean over draws of the statistic without each group
 */
export function byGroups(draws: readonly number[], without: readonly number[]): MeanInterval {
  const groups = without.length
  const center = mean(without)
  // pseudo-values: their mean has the variance of the jackknife
  const pseudo = without.map(value => center + (groups - 1) * (center - value))
  return intervalOf(mean(draws), [draws, pseudo])
}

/** @param samples - means along each of the axes, texts last */
function intervalOf(center: number, samples: readonly (readonly number[])[]): MeanInterval {
  if (!Number.isFinite(center)) return {mean: null, low: null, high: null}
  if (samples.at(-1)!.length < 2) return {mean: center, low: null, high: null}
  const {low, high} = crossedMean(center, samples).estimate
  return {mean: center, low: finiteOrNull(low), high: finiteOrNull(high)}
}
