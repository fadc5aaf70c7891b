/** Trainings as claims read them: plans, and what methods learned with each seed. */

import type {MethodSpec} from '../../experiments/axes.js'
import {type MethodRow, methodRows} from '../../experiments/train/report/rows.js'
import {type TrainPlan, trainPlan} from '../../experiments/train/schema.js'
import {packagedFile} from '../../inputs/packaged.js'
import {readTexts} from '../../inputs/texts.js'
import {type Estimate, studentTest} from '../../stats/index.js'
import type {PlanRequest} from '../claim.js'
import {type ClaimRuns, Unmeasured} from '../runs.js'
import type {Bounds} from './tests.js'

/** Rates of Adam that every method has to choose from, and runs at each. */
const [RATES, RUNS] = [[1e-3, 4e-3, 1.6e-2], 3]

/** Models, and what they learn: settings of `rfa train`, with shorter windows of text. */
const RECALL = {
  model: {layers: 1, width: 64, heads: 1, mlp: 0, convolution: 3, positions: false},
  ...{steps: 600, batch: 32, held_out: 512},
}
const CHARACTERS = {
  model: {layers: 2, width: 64, heads: 2, mlp: 128, convolution: 0, positions: true},
  ...{steps: 400, batch: 16, held_out: 256},
}

type TrainAxes = Pick<TrainPlan, 'methods'> &
  Partial<Pick<TrainPlan, 'num_features' | 'redraw' | 'key_dims'>>

export function trainedMethod(method: string, options: MethodSpec['options'] = {}): MethodSpec {
  return {method, preset: 'exact', options}
}

/** Recall of values by their keys among 64 tokens. */
export function recallPlan(
  {pairs, ...axes}: TrainAxes & {pairs: number},
  {seed}: PlanRequest,
): TrainPlan {
  const task = {name: 'mqar', length: 64, vocabulary: 256, pairs, power: 0.01, filled: true}
  return planOf({...RECALL, tasks: [task], key_dims: {default: 64}, ...axes, seed})
}

/** Values of nested operations, in expressions of 17 to 63 tokens. */
export function listOpsPlan(axes: TrainAxes, {seed}: PlanRequest): TrainPlan {
  const task = {name: 'listops', length: 64, shortest: 16, depth: 10, args: 10}
  const sizes = {...CHARACTERS, steps: 600, batch: 32, held_out: 2000}
  return planOf({...sizes, tasks: [task], key_dims: {default: 32}, ...axes, seed})
}

/** Characters of the texts of the package, 64 at a time. */
export async function charactersPlan(axes: TrainAxes, {seed}: PlanRequest): Promise<TrainPlan> {
  const path = packagedFile('charlm/texts.txt')
  const {digest} = await readTexts(path)
  const task = {name: 'chars', length: 64, texts: {path, digest}}
  return planOf({...CHARACTERS, tasks: [task], key_dims: {default: 32}, ...axes, seed})
}

function planOf(axes: object): TrainPlan {
  return trainPlan.parse({
    experiment: 'train',
    ...{projections: ['orth'], num_features: [32], redraw: 0, rates: RATES, runs: RUNS},
    backend: 'auto',
    ...axes,
  })
}

/** The runs of a method, at the rate that validation chose. @throws {Unmeasured} where the run has none */
export function trainedRow(
  runs: ClaimRuns,
  name: string,
  method: string,
  numFeatures?: number,
): MethodRow {
  const row = methodRows(runs.train(name)).find(
    ({runs: [run]}) =>
      run!.cell.method === method &&
      (numFeatures ?? run!.cell.num_features) === run!.cell.num_features,
  )
  if (!row) throw new Unmeasured(`${name} has no runs of ${method}`)
  return row
}

/**
 * Bits of a label of the test, for each run. A model that diverged knows nothing: all tokens are as likely.
 *
 * @param vectors - with the random vectors of the last step, or with some that no step has seen
 */
export function bitsOf({runs}: MethodRow, vectors: 'test' | 'fresh' = 'test'): number[] {
  return runs.map(({result}) => result[vectors]?.bits ?? Math.log2(result.vocabulary))
}

/** The mean of differences between runs with the same number, which have the same data, by Student's t. */
export function differenceOf(
  a: readonly number[],
  b: readonly number[],
): Bounds & {estimate: Estimate} {
  const differences = a.map((value, run) => value - b[run]!)
  const p = (mean: number, alternative: 'greater' | 'less') =>
    studentTest(differences, {mean, alternative}).pValue
  return {
    estimate: studentTest(differences).estimate,
    above: bound => p(bound, 'greater'),
    below: bound => p(bound, 'less'),
  }
}
