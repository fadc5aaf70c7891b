/** Means over draws and texts that are crossed: every draw reads every text. */
import {mean, variance} from './descriptive.js'
import {studentQuantile} from './distributions.js'

/** A mean with its 95 % interval; `null`: not known. */
export interface MeanInterval {
  mean: number | null
  low: number | null
  high: number | null
}

/** Coverage of intervals. */
const LEVEL = 0.95

/**
 * The mean of a table with its 95 % interval over rows and columns: another study would draw other features and read other texts.
 * The variance of the mean is the variance of the means of rows plus the variance of the means of columns. That counts the
 * rest of each cell twice: too large rather than too small (two-way random effects; A. B. Owen, The pigeonhole bootstrap, Ann. Appl.
 * Stat. 1, 2007, section 3). A single row, of a method without draws, adds no variance.
 *
 * @param table - a row for each draw, in it a number for each text
 */
export function overDrawsAndTexts(table: readonly (readonly number[])[]): MeanInterval {
  const columns = table[0]!.length
  const draws = table.map(row => mean(row))
  const texts = Array.from({length: columns}, (_, at) => mean(table.map(row => row[at]!)))
  return intervalOf(mean(draws), [draws, texts])
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

/**
 * Each axis reaches as far as Student's t of its own means, and reaches add in squares: with three draws, degrees of freedom by
 * Satterthwaite would cover 92.5 % where draws vary most.
 *
 * @param samples - means along each of the axes
 */
function intervalOf(center: number, samples: readonly (readonly number[])[]): MeanInterval {
  if (!Number.isFinite(center)) return {mean: null, low: null, high: null}
  if (samples.at(-1)!.length < 2) return {mean: center, low: null, high: null}
  const reaches = samples
    .filter(sample => sample.length > 1)
    .map(sample => {
      const error = Math.sqrt(variance(sample) / sample.length)
      return studentQuantile((1 + LEVEL) / 2, sample.length - 1) * error
    })
  const reach = Math.hypot(...reaches)
  if (!Number.isFinite(reach)) return {mean: center, low: null, high: null}
  return {mean: center, low: center - reach, high: center + reach}
}
