/** Where the time of a forward goes: its parts by themselves, in the turns in which the whole is timed. */
import type {ProjectionSource} from '../../attention/index.js'
import {attendInputs} from '../../attention/internal.js'
import {finiteOrNull, median} from '../../stats/index.js'
import {tf} from '../../tf.js'
import type {Breakdown, BreakdownPart} from './breakdown-schema.js'
import {type Clock, monotonic} from './clock.js'
import {medianOfRuns, turnsInterval} from './noise.js'
import type {Others, Timing} from './timing.js'
import {LEAST_TURNS, turnMedians} from './turns.js'

/** Runs of a part in each turn: at most so many, or for so many ns; one at least. */
const TURN = {runs: 10, ns: 5e6}

/** A part of a forward, as it is timed. */
export interface TimedPart {
  part: BreakdownPart['part']
  /** Whether every forward has it. */
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

  /** What was found beside the whole. */
  result(whole: Pick<Timing, 'samples_ns' | 'turn_runs'>): Breakdown {
    const turns = turnMedians({result: whole})
    const parts = this.parts.map(({part, inWhole}, at): BreakdownPart => {
      const {samples, turns: turn_runs} = this.taken[at]!
      const {value, low, high} = medianOfRuns(samples, null, turn_runs)
      const share = ratioByTurns(this.timesOf(at), turns)
      return {
        part,
        in_whole: inWhole,
        median_ns: value,
        median_low_ns: finiteOrNull(low),
        median_high_ns: finiteOrNull(high),
        share: share?.value ?? null,
        share_low: share?.low ?? null,
        share_high: share?.high ?? null,
        samples_ns: samples,
        turn_runs,
      }
    })
    const own = this.parts.flatMap(({inWhole}, at) => (inWhole ? [this.timesOf(at)] : []))
    const sums = turns.map((_, turn) => own.reduce((sum, times) => sum + times[turn]!, 0))
    const all = ratioByTurns(sums, turns)
    return {parts, ...sumFields(all), none: null}
  }

  private timesOf(at: number): number[] {
    const {samples, turns} = this.taken[at]!
    return turnMedians({result: {samples_ns: samples, turn_runs: turns}})
  }
}

function ratioByTurns(above: readonly number[], below: readonly number[]) {
  if (below.length < LEAST_TURNS) return null
  const logs = Float64Array.from(below, (time, turn) => Math.log(above[turn]! / time))
  const {value, low, high} = turnsInterval(logs)
  return {value: Math.exp(value), low: Math.exp(low), high: Math.exp(high)}
}

function sumFields(all: ReturnType<typeof ratioByTurns>) {
  return {
    sum_over_whole: all?.value ?? null,
    sum_over_whole_low: all?.low ?? null,
    sum_over_whole_high: all?.high ?? null,
  }
}

/** Of a method that is one whole. */
function noParts(none: string): Breakdown {
  return {parts: [], ...sumFields(null), none}
}

/** A call whose parts are timed. */
export interface BrokenDown {
  tensors: readonly [tf.Tensor4D, tf.Tensor4D, tf.Tensor4D]
  options: Parameters<typeof attendInputs>[3]
  /** Draws a projection as the call's, anew each time; absent: it has none. */
  draw?: (() => ProjectionSource) | undefined
  /** Whether the whole draws in each call. */
  drawsInWhole: boolean
}

/** A call whose parts are timed while it is. */
export interface Breaking {
  /** What the timing of the whole is told, so that parts have their turns beside it. */
  watch(others: Others): Others
  /** Gives the parts their last turn. */
  end(whole: Timing): Breakdown
}

/** Gets the parts of a call ready. */
export function startBreakdown(call: BrokenDown): Breaking {
  const found = partsOfCall(call)
  if (typeof found === 'string') return {watch: others => others, end: () => noParts(found)}
  const timer = new PartTimer(found.parts)
  return {
    watch: ({yieldTurn, ...others}) => ({
      ...others,
      ...(yieldTurn && {
        yieldTurn: async () => {
          timer.takeTurn()
          await yieldTurn()
          return true // parts have had the caches, whether others computed or not
        },
      }),
    }),
    end(whole) {
      timer.takeTurn()
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
  const {estimator, inputs} = attendInputs(...tensors, {...options, ...projection})
  const parts = estimator.parts?.(inputs)
  if (!parts) return `${estimator.name} is one whole: its attention is not that of features alone`
  // a part may pass on what is not its own: the rows of a projection are all that some features are
  const held = new Set<tf.Tensor>([...tensors, ...(projection ? [projection.projection] : [])])
  const kept: tf.Tensor[] = []
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
  const dispose = () => {
    tf.dispose(kept)
    source?.dispose()
  }
  return {parts: [...drawing, ...timed], dispose}
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
