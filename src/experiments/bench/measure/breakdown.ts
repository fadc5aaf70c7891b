/** Where the time of a forward goes: its parts by themselves, in the turns in which the whole is timed. */
import type {ProjectionSource} from '../../../attention/index.js'
import {attendInputs} from '../../../attention/internal.js'
import {repeatHeads} from '../../../model/repeat-heads.js'
import {median} from '../../../stats/index.js'
import {tf} from '../../../tf.js'
import type {Breakdown, BreakdownPart} from '../fields/breakdown.js'
import {turnMedians} from '../times/processes.js'
import {type Clock, monotonic, type Others, type Timing} from './timing.js'

/** Runs of a part in each turn: at most `runs`, or for `ns`; one at least. */
const TURN = {runs: 10, ns: 5e6}

export interface TimedPart {
  part: BreakdownPart['part']
  inWhole: boolean
  /** Does it once; what it makes is disposed of, as that of the whole is. */
  run(): void
}

/** Times parts at the ends of the turns of a whole. */
export class PartTimer {
  private readonly taken: {samples: number[]; turns: number[]}[]

  constructor(
    private readonly parts: readonly TimedPart[],
    private readonly clock: Clock = monotonic,
  ) {
    this.taken = parts.map(() => ({samples: [], turns: []}))
  }

  /** How many it has taken. */
  get turns(): number {
    return this.taken[0]?.turns.length ?? 0
  }

  /** Runs every part for a while. */
  takeTurn(): void {
    this.parts.forEach(({run}, at) => {
      const {samples, turns} = this.taken[at]!
      const before = samples.length
      run() // what the part before left in the caches is not its own
      let total = 0
      do {
        const start = this.clock()
        run()
        const elapsed = this.clock() - start
        samples.push(elapsed)
        total += elapsed
      } while (samples.length - before < TURN.runs && total < TURN.ns)
      turns.push(samples.length - before)
    })
  }

  /** The times of parts in this process: intervals take several. */
  result(whole: Pick<Timing, 'samples_ns' | 'turn_runs'>): Breakdown {
    const turns = turnMedians(whole)
    const parts = this.parts.map(({part, inWhole}, at): BreakdownPart => {
      const {samples, turns: turn_runs} = this.taken[at]!
      return {
        part,
        in_whole: inWhole,
        ...{median_ns: median(samples), median_low_ns: null, median_high_ns: null},
        ...{share: ratioByTurns(this.timesOf(at), turns), share_low: null, share_high: null},
        samples_ns: samples,
        turn_runs,
      }
    })
    const own = this.parts.flatMap(({inWhole}, at) => (inWhole ? [this.timesOf(at)] : []))
    const sums = turns.map((_, turn) => own.reduce((sum, times) => sum + times[turn]!, 0))
    return {parts, ...sumFields(ratioByTurns(sums, turns)), none: null}
  }

  private timesOf(at: number): number[] {
    const {samples, turns} = this.taken[at]!
    return turnMedians({samples_ns: samples, turn_runs: turns})
  }
}

/** Median over the turns of the ratio in each. */
function ratioByTurns(above: readonly number[], below: readonly number[]): number {
  return median(below.map((time, turn) => above[turn]! / time))
}

function sumFields(sum_over_whole: number | null) {
  return {sum_over_whole, sum_over_whole_low: null, sum_over_whole_high: null}
}

/** Of a method that is one whole. */
function noParts(none: string): Breakdown {
  return {parts: [], ...sumFields(null), none}
}

export interface BrokenDown {
  tensors: readonly [tf.Tensor4D, tf.Tensor4D, tf.Tensor4D]
  options: Parameters<typeof attendInputs>[3]
  /** Draws a projection as the call's, anew each time; absent: it has none. */
  draw?: (() => ProjectionSource) | undefined
  /** Whether the whole draws in each call. */
  drawsInWhole: boolean
}

/** A call that is timed together with its parts. */
export interface Breaking {
  /** Passed to the timing of the whole, so that parts have their turns next to it. */
  watch(others: Others): Others
  /** Gives the parts their last turn. */
  end(whole: Timing): Breakdown
}

export function startBreakdown(call: BrokenDown): Breaking {
  const found = partsOfCall(call)
  if (typeof found === 'string') return {watch: others => others, end: () => noParts(found)}
  const timer = new PartTimer(found.parts)
  return {
    watch({yieldTurn, ...others}) {
      if (!yieldTurn) return others
      let begun = false
      return {
        ...others,
        yieldTurn: async () => {
          // the first turn is yet to come
          if (begun) timer.takeTurn()
          begun = true
          const next = await yieldTurn()
          // parts have had the caches, whether others computed or not
          return next === 'none' ? next : 'after others'
        },
      }
    },
    end(whole) {
      // an interrupt comes behind the parts of the last turn
      if (timer.turns < whole.turn_runs.length) timer.takeTurn()
      found.dispose()
      return timer.result(whole)
    },
  }
}

/** The parts of a call, each with what the ones before give ready made; the reason where it has none. */
function partsOfCall({
  tensors,
  options,
  draw,
  drawsInWhole,
}: BrokenDown): {parts: TimedPart[]; dispose(): void} | string {
  const source = draw?.()
  const projection = source && {projection: source.next()}
  const [query, key, value] = tensors
  const heads = query.shape[1]
  const shared = key.shape[1] !== heads
  const repeat = () => [repeatHeads(key, heads), repeatHeads(value, heads)] as const
  const full = repeat()
  const {estimator, inputs} = attendInputs(query, ...full, {...options, ...projection})
  const parts = estimator.parts?.(inputs)
  const kept: tf.Tensor[] = shared ? [...full] : []
  if (!parts) {
    tf.dispose(kept)
    return `${estimator.name} is one whole: its attention is not that of features alone`
  }
  // a part may pass on what is not its own: the rows of a projection are all that some features are
  const held = new Set<tf.Tensor>([
    ...[query, ...full],
    ...(projection ? [projection.projection] : []),
  ])
  const timed: TimedPart[] = []
  let given: readonly tf.Tensor[] = []
  for (const {name, run} of parts) {
    const own = given
    const make = () => tf.tidy(() => run(own)).filter(tensor => !held.has(tensor))
    timed.push({part: name, inWhole: true, run: () => tf.dispose(make())})
    given = tf.tidy(() => run(own))
    kept.push(...given.filter(tensor => !held.has(tensor)))
  }
  const drawing: TimedPart[] = draw
    ? [{part: 'draw', inWhole: drawsInWhole, run: () => drawOnce(draw)}]
    : []
  const repeating: TimedPart[] = shared
    ? [{part: 'repeat', inWhole: true, run: () => tf.dispose([...repeat()])}]
    : []
  const dispose = () => {
    tf.dispose(kept)
    source?.dispose()
  }
  return {parts: [...drawing, ...repeating, ...timed], dispose}
}

function drawOnce(draw: () => ProjectionSource): void {
  const source = draw()
  source.next()
  source.dispose()
}

/** Median of the sum of the parts that every forward has, in ns; turn by turn it is a ratio of the record. */
export function sumOfParts(parts: readonly BreakdownPart[]): number {
  return parts.reduce((sum, {in_whole, samples_ns}) => sum + (in_whole ? median(samples_ns) : 0), 0)
}
