import type {CompletedSweep} from '../../experiments/error-sweep/schema.js'
import type {PlanRequest} from '../claim.js'
import {sweepPlanOf} from '../plans.js'
import type {ClaimRuns} from '../runs.js'
import type {Drawing, Figure, Point} from './figure.js'

const RUN = 'performer-4'
/** Names of the curves. */
const METHODS: Readonly<Record<string, string>> = {'favor-pos': 'positive', 'favor-trig': 'sin/cos'}
const SCALES = [0.5, 1]
const DRAWS = 15
/** Numbers of random vectors. */
const FEATURES = {quick: [16, 64, 256], full: [16, 32, 64, 128, 256]}

function plans({effort, seed}: PlanRequest) {
  return {
    [RUN]: sweepPlanOf({
      generator: 'gaussian',
      heads: 1,
      headDim: 16,
      length: 4096,
      methods: Object.keys(METHODS).map(method => ({method})),
      projections: ['iid', 'orth'],
      numFeatures: FEATURES[effort],
      scales: SCALES,
      replicates: DRAWS,
      seed,
    }),
  }
}

function pointOf({cell, result}: CompletedSweep): Point {
  const {median, low, high} = result.mse
  return {
    series: `${METHODS[cell.method]} ${cell.projection}, scale ${cell.scale}`,
    x: cell.num_features!,
    y: median ?? Number.NaN,
    low,
    high,
  }
}

function draw(runs: ClaimRuns): Drawing {
  const records = runs.sweep(RUN)
  const series = SCALES.flatMap(scale =>
    Object.keys(METHODS).flatMap(method =>
      ['iid', 'orth'].flatMap(projection =>
        records.filter(
          ({cell}) =>
            cell.scale === scale && cell.method === method && cell.projection === projection,
        ),
      ),
    ),
  )
  return {
    points: series.map(pointOf),
    notes: [
      'medians of the draws: means of sin/cos features do not settle where denominators come near zero',
    ],
  }
}

export default {
  id: 'performer-4',
  title: 'Error of attention outputs over the number of random vectors',
  source: 'Choromanski et al. 2021, arXiv:2009.14794, figure 4',
  paper:
    'mean squared error of outputs at L = 4096, D = 16, 15 draws, independent and orthogonal rows, positive and sin/cos features; it prints no numbers',
  ours: `the same, of queries and keys from N(0, s^2) with scales s of ${SCALES.join(' and ')}: which features err less is a matter of s`,
  x: 'random vectors M',
  y: 'median of the mean squared error',
  plans,
  draw,
} satisfies Figure
