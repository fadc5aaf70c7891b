/**
 * Draws until statistical checks can be decided: a first batch of each comparison says by its spread and skewness how many
 * draws it takes ({@link judge}), the cheapest comparison is served first, and a time ends what would take too long. The
 * numbers follow from the draws alone, so that machines differ only where the time is up.
 */
import {judge, type Sample} from './samples.js'

/** Draws of one comparison, taken together. */
export interface Batch {
  values: Float64Array
  /** Of each draw; 1 on average. */
  weights: Float64Array
  /** Mean of the sums of the magnitudes of their terms. */
  size: number
  /** What the values are counted in, on average. */
  unit: number
}

/** One comparison before it is drawn. */
export interface Source {
  /** @param batch - its index: batches are independent */
  draw(batch: number, draws: number): Batch
  /** The comparison of all draws so far. @param all - with values that are weighted and in units */
  sample(all: {values: Float64Array; size: number}): Sample
}

/** How long to draw. */
export interface Extent {
  /** Exact number of draws; `undefined`: the number that a verdict needs. */
  draws: number | undefined
  /** Processor time that all comparisons of a check have together, unless the draws are given. */
  seconds: number
}

/** Draws of a batch; that of the first says how many there must be. */
const BATCH = 1000
/** A first batch knows little of tails: the number of draws grows by no more at a time. */
const GROWTH = 4
/** Code runs slower at first, so work is tried if it seems to take up to this many times the time left. */
const SLOW_START = 3

export async function drawSamples(
  sources: readonly Source[],
  {draws, seconds}: Extent,
): Promise<Sample[]> {
  const end = processorTime() + 1000 * seconds
  const pools = sources.map(source => new Pool(source))
  for (const pool of pools) await pool.raise(draws ?? BATCH, Infinity)
  if (draws !== undefined) return pools.map(pool => pool.sample)
  for (const level of ['needs', 'wants'] as const) {
    for (;;) {
      const open = pools
        .map(pool => ({pool, target: judge(pool.sample, pools.length)[level]}))
        .map(({pool, target}) => ({pool, target, time: (target - pool.drawn) * pool.pace}))
        .filter(({pool, target}) => target > pool.drawn)
        .filter(({time}) => time < SLOW_START * (end - processorTime()))
      const [first] = open.sort((a, b) => a.time - b.time)
      if (!first || processorTime() > end) break
      await first.pool.raise(Math.min(first.target, GROWTH * first.pool.drawn), end)
    }
  }
  return pools.map(pool => pool.sample)
}

/** The draws of one comparison. */
class Pool {
  drawn = 0
  /** Milliseconds for each draw. */
  pace = 0
  #batches: Batch[] = []
  #sample: Sample | undefined

  constructor(private readonly source: Source) {}

  /** Draws until there are `target` draws, or the time is up. */
  async raise(target: number, end: number): Promise<void> {
    const start = processorTime()
    const before = this.drawn
    while (this.drawn < target && processorTime() < end) {
      const draws = Math.min(BATCH, target - this.drawn)
      this.#batches.push(this.source.draw(this.#batches.length, draws))
      this.drawn += draws
      await new Promise(resolve => setImmediate(resolve)) // signals have their turn
    }
    if (this.drawn === before) return
    this.pace = (processorTime() - start) / (this.drawn - before)
    this.#sample = undefined
  }

  get sample(): Sample {
    this.#sample ??= this.source.sample(joined(this.#batches, this.drawn))
    return this.#sample
  }
}

/** Time that this process has computed, in ms: a busy machine changes no verdict. */
function processorTime(): number {
  const {user, system} = process.cpuUsage()
  return (user + system) / 1000
}

/** All draws as one batch: weighted, in units of their mean unit. */
function joined(batches: readonly Batch[], drawn: number) {
  const mean = (number: (batch: Batch) => number) =>
    batches.reduce((sum, batch) => sum + number(batch) * batch.values.length, 0) / drawn
  const unit = mean(batch => batch.unit)
  const values = new Float64Array(drawn)
  let from = 0
  for (const {values: own, weights} of batches) {
    own.forEach((each, at) => {
      values[from + at] = (each * weights[at]!) / unit
    })
    from += own.length
  }
  return {values, size: Math.abs(mean(batch => batch.size) / unit)}
}
