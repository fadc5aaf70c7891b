/**
 * From which norm on positive features vary less than sines and cosines, by the laws of their kernels at mean norms. The error
 * of the latter has no prediction, as their denominators come near zero; they err more for it than the kernel tells. On three of the
 * four layers in `fixtures/` errors (M = 64 and 256, iid) changed places at 0.51 to 0.92 of the squared norm that is told here; on
 * the fourth and on generated inputs the laws do not cross, and errors still did.
 *
 * Source: Choromanski et al. 2021, arXiv:2009.14794, Lemma 2.
 */
import type {Point, Series} from '../../../report/figures/figure.js'
import {significant} from '../../../report/numbers.js'
import {heightAmong, heightAt, type LogPlace, passesOne} from '../../../stats/index.js'
import {predictRelativeVariance, type VarianceLaw} from '../../../theory/predictor.js'
import {projectionLabel, variantLabel} from '../../labels.js'
import type {CompletedSweep} from '../schema.js'

/** Methods of either law. */
const [POSITIVE, TRIGONOMETRIC] = ['favor-pos', 'favor-trig']

/** What is drawn over what. */
interface Axis {
  label: string
  read(record: CompletedSweep): number | null
}

/**
 * A mark on the predicted line of a variant of positive features, where one of sines and cosines has the same rows. None where
 * the kernel varies by more than itself: then neither estimates anything.
 *
 * @param line - predicted
 * @param own - records of its variant
 * @param all - records of the figure, at the same M
 */
export function kernelTurns(
  line: Series,
  own: readonly CompletedSweep[],
  all: readonly CompletedSweep[],
  axis: Axis,
): Point[] {
  const [first] = own
  if (first?.cell.method !== POSITIVE) return []
  const rows = projectionLabel(first.cell)
  const rivals = all.filter(
    ({cell}) => cell.method === TRIGONOMETRIC && projectionLabel(cell) === rows,
  )
  const turn = rivals.length > 0 ? turnOf(own, axis) : undefined
  const y = turn && heightAmong(line.points, turn)
  if (turn === undefined || y === undefined) return []
  const names = [first, rivals[0]!].map(({cell}) => variantLabel(cell)).join(' varies less than ')
  const from = `from ${significant(turn)} on (${axis.label})`
  return [
    {x: turn, y, facts: [`${names} ${from}, by the kernel at mean norms; it may err less before`]},
  ]
}

/** Where the variance of the kernel with sines and cosines passes that with positive features upwards. */
function turnOf(records: readonly CompletedSweep[], {read}: Axis): number | undefined {
  const places = records
    .flatMap(record => {
      const x = read(record)
      return x === null ? [] : [{x, positive: varianceOf(record, 'positive'), record}]
    })
    .toSorted((a, b) => a.x - b.x)
  const ratios = places.map(({x, positive, record}): LogPlace => {
    return {x, y: varianceOf(record, 'trigonometric') / positive}
  })
  const at = ratios.findIndex(({y}, place) => y < 1 && (ratios[place + 1]?.y ?? 0) >= 1)
  if (at < 0) return undefined
  const turn = passesOne([ratios[at]!, ratios[at + 1]!])
  const [from, to] = [places[at]!, places[at + 1]!].map(({x, positive}) => ({x, y: positive}))
  return heightAt([from!, to!], turn) <= 1 ? turn : undefined
}

/** Relative, of one estimate of the kernel. */
function varianceOf({cell, result}: CompletedSweep, law: VarianceLaw): number {
  const {sum_norm2: sumNorm2, difference_norm2: differenceNorm2} = result.statistics
  const norms = {sumNorm2, differenceNorm2, headDim: result.head_dim}
  return predictRelativeVariance(law, norms, cell.num_features ?? 1).relativeVariance
}
