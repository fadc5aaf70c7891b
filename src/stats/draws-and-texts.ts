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
 * @param table - a row for each draw, in it a number for each text
 */
export function overDrawsAndTexts(table: readonly (readonly number[])[]): MeanInterval {
  const draws = table.map(row => mean(row))
  const texts = Array.from(table[0]!, (_, at) => mean(table.map(row => row[at]!)))
  return intervalOf(mean(draws), [draws, texts])
}

/**
 * A table of texts that do not count alike, as one of texts that do: the mean of a row becomes sum n_t x_t / sum n_t.
 *
 * That is a ratio of two sums over texts, of losses and of tokens, which both vary with the texts. To first order the ratio R differs
 * from its expectation by the mean of n_t (x_t - R) / mean(n), which has the variance of a mean over texts (linearised: W. G.
 * Cochran, Sampling Techniques, 1977, section 6.4): R + n_t (x_t - R) / mean(n) stands for x_t.
 *
 * @param table - a row for each draw, in it a mean for each text
 * @param weights - n, how much each text counts, such as its tokens
 */
export function linearised(
  table: readonly (readonly number[])[],
  weights: readonly number[],
): number[][] {
  const average = mean(weights)
  return table.map(row => {
    const ratio = weightedMean(row, weights)
    return row.map((value, at) => ratio + (weights[at]! / average) * (value - ratio))
  })
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
