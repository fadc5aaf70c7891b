import type {CompletedSweep} from '../../experiments/error-sweep/schema.js'
import type {PlanRequest} from '../claim.js'
import {samplingPlanOf} from '../plans.js'
import type {ClaimRuns} from '../runs.js'
import type {Drawing, Figure, Point} from './figure.js'

/** Tokens in a row, and patches of an image of 14 x 14. */
const GENERATORS = ['ar1', 'grid2d'] as const
/** Random vectors of positive features, proposals of LARA. */
const COUNTS = [4, 16, 49, 98]
/** Samples of RA, which takes the whole row for each. */
const SAMPLES = [1, 4, 16]

const runOf = (generator: string) => `lara-mse-${generator}`

function plans({effort, seed}: PlanRequest) {
  const planOf = (generator: (typeof GENERATORS)[number]) =>
    samplingPlanOf({
      generator,
      samples: SAMPLES,
      numFeatures: COUNTS,
      replicates: effort === 'quick' ? 10 : 60,
      seed,
    })
  return Object.fromEntries(GENERATORS.map(name => [runOf(name), planOf(name)]))
}

/** Names of the curves, from the method with the largest error in the paper on. */
const METHODS = {'favor-pos': 'positive features', lara: 'LARA', ra: 'RA'}

function pointOf({cell, result}: CompletedSweep, series: string): Point {
  const {median, low, high} = result.mse
  const x = cell.num_features ?? Number(cell.options.samples)
  return {series, x, y: median ?? Number.NaN, low, high}
}

function draw(runs: ClaimRuns): Drawing {
  const points = GENERATORS.flatMap(generator =>
    Object.entries(METHODS).flatMap(([method, name]) =>
      runs
        .sweep(runOf(generator))
        .filter(({cell}) => cell.method === method)
        .map(record => pointOf(record, `${name}, ${generator}`)),
    ),
  )
  return {points, notes: []}
}

export default {
  id: 'lara-mse',
  title: 'Error of attention outputs over the number of samples: random features, LARA and RA',
  source: "Zheng et al. 2022, arXiv:2204.04667, and the authors' summary of it",
  paper:
    'mean squared error against softmax attention in a vision transformer (DeiT on ImageNet), RA below LARA below random features (positive ones there), which soon level off; it prints no numbers',
  ours: 'tokens of neighbours that are alike, generated: a sequence (ar1) and an image of 14 x 14 (grid2d), two heads of 64, L = 196',
  x: 'random vectors, proposals or samples',
  y: 'median of the mean squared error',
  plans,
  draw,
} satisfies Figure
