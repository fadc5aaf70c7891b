/** For errors over random draws: pairs with the same random numbers, tested by signs that could as well have been others, and a margin. */
import {randomStream} from '../random/index.js'
import {
  type Estimate,
  hodgesLehmann,
  holm,
  LEAST_FOR_FLIPS,
  logRatios,
  mapped,
  pairedSuperiority,
  signFlips,
  superiority,
  welchTest,
} from '../stats/index.js'
import {ALPHA} from './answer.js'

/**
 * What a ratio rests on:
 * - `exact`: nothing is drawn and nothing varies
 * - `processes`: cells with processes that took turns, process by process
 * - `medians`: medians of independent measurements
 * - `pairs`: replicates of the same draws
 * - `samples`: replicates of independent draws
 * - `spreads`: variances over draws, by their standard errors
 */
export const BASES = ['exact', 'processes', 'medians', 'pairs', 'samples', 'spreads'] as const

/** One number over another, with how it is tested. */
export interface TestedRatio {
  /** Ends are `NaN` where too little is known, and the value itself where nothing varies. */
  ratio: Estimate
  /**
   * Two-sided, of the null hypothesis that the ratio is 1, or no farther from it than the margin; `NaN` where there is no test,
   * and where `differences` has it.
   */
  pValue: number
  /** Logarithms of the ratios of paired replicates, which are tested together with those of other lines. */
  differences?: Float64Array
  /** Probability that a value of the first exceeds one of the second; `NaN` where single values are not known. */
  effect: number
  basis: (typeof BASES)[number]
  /** Pairs that were compared, where values are paired. */
  pairs?: number
}

/** Ratio of errors over the same draws. */
export function pairedRatio(above: readonly number[], below: readonly number[]): TestedRatio {
  const differences = pairedLogs(above, below)
  return {
    ratio: mapped(hodgesLehmann(differences), Math.exp),
    ...{pValue: Number.NaN, differences, effect: pairedSuperiority(...inPairs(above, below))},
    ...{basis: 'pairs', pairs: differences.length},
  }
}

/** Logarithms of ratios of paired errors; an error without draws is paired with each of the others. */
function pairedLogs(above: readonly number[], below: readonly number[]): Float64Array {
  return logRatios(...inPairs(above, below))
}

function inPairs(a: readonly number[], b: readonly number[]): [Float64Array, Float64Array] {
  const drawn = [a, b].map(({length}) => length).filter(length => length > 1)
  const pairs = drawn.length === 0 ? 1 : Math.min(...drawn)
  const paired = (values: readonly number[]) =>
    Float64Array.from({length: pairs}, (_, at) => values[values.length > 1 ? at : 0]!)
  return [paired(a), paired(b)]
}

/** Ratio of errors over independent draws. @param margin - relative difference that counts as none */
export function unpairedRatio(
  above: readonly number[],
  below: readonly number[],
  margin: number,
): TestedRatio {
  const [own, other] = [above, below].map(errors => errors.map(Math.log)) as [number[], number[]]
  const {estimate} = welchTest(own, other)
  // towards the other by the margin: a difference within it does not count
  const moved = Math.sign(estimate.value) * Math.log1p(margin)
  const beyond = Math.abs(estimate.value) > Math.abs(moved)
  const shifted = own.map(value => value - moved)
  const pValue = beyond ? welchTest(shifted, other).pValue : 1
  const effect = superiority(above, below)
  return {ratio: mapped(estimate, Math.exp), pValue, effect, basis: 'samples'}
}

/**
 * p-values of ratios, adjusted for all of them: paired replicates together by `signFlips`, the others by Holm. Each
 * is doubled if there are both.
 *
 * @returns `NaN` where there is no test
 */
export function adjustedPValues(
  ratios: readonly Pick<TestedRatio, 'pValue' | 'differences'>[],
  margin: number,
): number[] {
  const flipped = signFlips(
    ratios.map(({differences = []}) => differences),
    {stream: randomStream(0, 'comparison'), margin: Math.log1p(margin)},
  )
  const others = ratios.flatMap(({pValue}, at) => (Number.isNaN(pValue) ? [] : [at]))
  const byHolm = holm(others.map(at => ratios[at]!.pValue))
  const families = others.length > 0 && flipped.some(p => !Number.isNaN(p)) ? 2 : 1
  const adjusted = flipped.slice()
  others.forEach((at, place) => {
    adjusted[at] = byHolm[place]!
  })
  return adjusted.map(p => Math.min(1, families * p))
}

/** The errors of an item over draws. */
export interface Drawn<Item> {
  item: Item
  errors: readonly number[]
  /** Whether there is more than one value that it might have shown. */
  drawn: boolean
}

/** An item against another one, by draws. */
export interface DrawTest {
  /** That the item is not higher than the other by more than the margin, adjusted for all others. */
  higher: number
  pairs: number
}
export type DrawTests<Item> = ReadonlyMap<Item, ReadonlyMap<Item, DrawTest>>

/** Each item against all others, where both have enough draws and at least one is drawn. */
export function drawTests<Item>(all: readonly Drawn<Item>[], margin: number): DrawTests<Item> {
  const able = all.filter(({errors}) => errors.every(error => error > 0))
  const tests = able.map(({item, errors, drawn}) => {
    const rivals = able.flatMap(other => {
      if (other.item === item || !(drawn || other.drawn)) return []
      const differences = pairedLogs(errors, other.errors)
      return differences.length >= LEAST_FOR_FLIPS ? [{item: other.item, differences}] : []
    })
    const pValues = signFlips(
      rivals.map(({differences}) => differences),
      {stream: randomStream(0, 'ranking'), margin: Math.log1p(margin), alternative: 'greater'},
    )
    const own = rivals.map((other, at): [Item, DrawTest] => [
      other.item,
      {higher: pValues[at]!, pairs: other.differences.length},
    ])
    return [item, new Map(own)] as const
  })
  return new Map(tests.filter(([, own]) => own.size > 0))
}

export function isFoundHigher({higher}: DrawTest): boolean {
  return higher <= ALPHA
}

/** What is asked of any two items. */
interface Contest<Item> {
  isHigher(a: Item, b: Item): boolean
  costsNoMore(a: Item, b: Item): boolean
}

/** The front: nothing that costs at most as much is lower for certain. Also whether any two items differ at all. */
export function frontOf<Item extends {value: number}>(
  items: readonly Item[],
  {isHigher, costsNoMore}: Contest<Item>,
): {front: Item[]; differ: boolean} {
  // most are higher than one of the first
  const rivals = items.toSorted((a, b) => a.value - b.value)
  const front = items.filter(
    own => !rivals.some(rival => costsNoMore(rival, own) && isHigher(own, rival)),
  )
  return {front, differ: items.some(own => rivals.some(rival => isHigher(own, rival)))}
}
