import type {CompletedVariance} from '../../experiments/variance/schema.js'
import {logInterval} from '../../stats/index.js'
import {positiveVariance, trigonometricVariance} from '../../theory/kernels.js'
import type {PlanRequest} from '../claim.js'
import {variancePlanOf} from '../plans.js'
import type {ClaimRuns} from '../runs.js'
import type {Drawing, Figure, Point} from './figure.js'

const [POSITIVE, TRIGONOMETRIC] = ['performer-2-positive', 'performer-2-trigonometric']
/** Random vectors of each side: other numbers, so that their draws are independent of each other. */
const VECTORS = {[POSITIVE]: 64, [TRIGONOMETRIC]: 32}

/** Of both vectors; the figure is symmetrical about the angle 0. */
const LENGTHS = [0.5, 1, 1.5, 2]
/** In degrees. At 180 positive features do not err at all, and the ratio has no value. */
const ANGLES = [0, 15, 30, 45, 60, 75, 90, 105, 120, 135, 150, 165]
/** Where draws see the tail; at 0 degrees sin/cos features do not err at all. */
const MEASURED = {norms: [0.5, 1], angles_deg: ANGLES.slice(2)}

function plans({effort, seed}: PlanRequest) {
  const replicates = effort === 'quick' ? 4000 : 40_000
  const axes = {projections: ['iid' as const], head_dims: [16], ...MEASURED, replicates, seed}
  const planOf = (run: keyof typeof VECTORS, method: string) =>
    variancePlanOf({...axes, methods: [method], num_features: [VECTORS[run]!]})
  return {
    [POSITIVE]: planOf(POSITIVE, 'favor-pos'),
    [TRIGONOMETRIC]: planOf(TRIGONOMETRIC, 'favor-trig'),
  }
}

/** Error of sin/cos over that of positive features with the same number of vectors, exact. */
function ratioAt(length: number, angle: number): number {
  const turn = (angle * Math.PI) / 180
  const x = Float64Array.of(length, 0)
  const y = Float64Array.of(length * Math.cos(turn), length * Math.sin(turn))
  return trigonometricVariance(x, y, 1) / positiveVariance(x, y, 1)
}

const exact: readonly Point[] = LENGTHS.flatMap(length =>
  ANGLES.map(x => ({series: `length ${length}`, x, y: ratioAt(length, x)})),
)

/** The same measured; `undefined` where the tail of one of them is too heavy for the draws. */
function measuredPoint(
  above: CompletedVariance,
  below: CompletedVariance | undefined,
): Point | undefined {
  const [upper] = above.result.per_projection
  const [lower] = below?.result.per_projection ?? []
  if (upper?.variance == null || lower?.variance == null) return undefined
  // variances of i.i.d. rows are proportional to one over their number
  const vectors = VECTORS[TRIGONOMETRIC]! / VECTORS[POSITIVE]!
  const y = (vectors * upper.variance) / lower.variance
  const error = Math.hypot(
    upper.variance_relative_standard_error ?? Number.NaN,
    lower.variance_relative_standard_error ?? Number.NaN,
  )
  const {norm, angle_deg} = above.cell
  return {series: `length ${norm}, measured`, x: angle_deg, y, ...logInterval(y, error)}
}

function draw(runs: ClaimRuns): Drawing {
  const positive = runs.variance(POSITIVE)
  const pairs = runs.variance(TRIGONOMETRIC).map(above => {
    const {norm, angle_deg} = above.cell
    const below = positive.find(({cell}) => cell.norm === norm && cell.angle_deg === angle_deg)
    return measuredPoint(above, below)
  })
  const measured = pairs.filter(point => point !== undefined)
  const missing = pairs.length - measured.length
  return {
    points: [...exact, ...measured],
    notes:
      missing === 0
        ? []
        : [
            `${missing} of ${pairs.length} measured pairs are left out: the draws are too few to see the tail of their estimates`,
          ],
  }
}

export default {
  id: 'performer-2',
  title:
    'Where positive features err less than sin/cos features: ratio of their mean squared errors over angle and length',
  source: 'Choromanski et al. 2021, arXiv:2009.14794, figure 2',
  paper:
    'a map of the ratio over angles of -180 to 180 degrees and lengths up to 2, equal numbers of vectors; it prints no numbers',
  ours: 'the closed forms, exact for any dimension and any number of vectors; with measured ratios at lengths of 0.5 and 1, D = 16, i.i.d. rows',
  x: 'angle in degrees',
  y: 'mean squared error of sin/cos over positive features',
  plans,
  draw,
} satisfies Figure
