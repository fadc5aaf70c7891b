import type {AttentionErrorName, CompletedSwap} from '../experiments/swap/schema.js'
import {groupBy} from '../report/groups.js'
import {significant} from '../report/numbers.js'
import {type CrossedEstimate, spearman} from '../stats/index.js'
import type {Judgement, TestedClaim} from './claim.js'
import {answersOf, verdictOf} from './ladder.js'
import {CHARLM_RUN, charlmRun} from './plans.js'
import type {ClaimRuns} from './runs.js'
import {
  damageTable,
  type PartTable,
  resampled,
  tableOf,
  type Variant,
  variantsOf,
  type Weights,
  weightedMean,
} from './swaps.js'
import {testsAbove} from './tests.js'

/** Rank correlation from which an error is said to order methods. */
const LEAST = 0.7
/** Seed of resamples: verdicts on the same records are the same. */
const SEED = 30

/** Errors of one exchanged layer, as sentences call them. */
const ERRORS = {
  rel_l2: 'rel L2',
  token_mean_rel_l2: 'rel L2 of the mean over tokens',
  residual: 'error over the residual stream',
  token_mean_residual: 'error of the mean over tokens over the residual stream',
  layer: 'error of the output of the layer',
} as const satisfies Record<AttentionErrorName | 'layer', string>
type ErrorName = keyof typeof ERRORS
const NAMES = Object.keys(ERRORS) as ErrorName[]
/** What error-sweep prints first. */
const PRINTED = 'rel_l2'
const RIVALS = NAMES.filter(name => name !== PRINTED)

/** A set of exchanged layers: its damage, and the errors of each of its layers. */
interface Point {
  method: string
  damage: PartTable
  errors: Record<ErrorName, readonly PartTable[]>
}

/** Where rank correlations are looked at. */
const SETTINGS = ['all layers at once', 'one layer at a time'] as const

function pointsOf(setting: (typeof SETTINGS)[number], variants: readonly Variant[]): Point[] {
  return variants.flatMap(({method, all, single}) =>
    setting === 'all layers at once'
      ? [pointOf(method, all, single)]
      : single.map(record => pointOf(method, record, [record])),
  )
}

/** @param singles - the same layers, each exchanged by itself: their attention reads what the original reads */
function pointOf(method: string, record: CompletedSwap, singles: readonly CompletedSwap[]): Point {
  const tables = (name: ErrorName) =>
    singles.map(single =>
      tableOf(single, part =>
        name === 'layer' ? part.hidden_error[single.cell.layers[0]!] : part.attention_errors[name],
      ),
    )
  return {method, damage: damageTable(record), errors: byError(tables)}
}

/** Rank correlation of an error, root mean square over draws, texts and layers, with the damage. */
function correlation(points: readonly Point[], name: ErrorName, weights: Weights): number {
  const square = (error: number) => error ** 2
  return spearman(
    points.map(({errors}) =>
      errors[name].reduce((sum, table) => sum + weightedMean(table, weights, square), 0),
    ),
    points.map(({damage}) => weightedMean(damage, weights)),
  )
}

/** Correlations of one setting. */
interface Setting {
  name: (typeof SETTINGS)[number]
  points: readonly Point[]
  /** Of each error. */
  found: Record<ErrorName, CrossedEstimate>
  /** Of each error, how much higher than that of rel L2. */
  gains: Record<ErrorName, CrossedEstimate>
  /** Of rel L2 without one method after another: what the choice of methods does. */
  without: readonly number[]
}

function settingOf(name: Setting['name'], variants: readonly Variant[]): Setting {
  const points = pointsOf(name, variants)
  const sizes = {
    draws: Math.max(...points.map(({damage}) => damage.length)),
    groups: points[0]!.damage[0]!.length,
  }
  const all = (weights: Weights) => byError(error => correlation(points, error, weights))
  const less = (of: Record<ErrorName, number>) => byError(error => of[error] - of[PRINTED])
  const even = {
    draws: new Float64Array(sizes.draws).fill(1),
    groups: new Float64Array(sizes.groups).fill(1),
  }
  return {
    ...{name, points},
    found: resampled(sizes, SEED, all),
    gains: resampled(sizes, SEED, weights => less(all(weights))),
    without: groupBy(points, ({method}) => method).map(([left]) =>
      correlation(
        points.filter(({method}) => method !== left!.method),
        PRINTED,
        even,
      ),
    ),
  }
}

function byError<T>(of: (name: ErrorName) => T): Record<ErrorName, T> {
  return Object.fromEntries(NAMES.map(name => [name, of(name)])) as Record<ErrorName, T>
}

function quantitiesOf({name, points, found, without}: Setting) {
  return [
    ...NAMES.map(error => ({
      name: `${name}, ${points.length} cells: Spearman of ${ERRORS[error]} with damage`,
      ...correlationOf(found[error]),
    })),
    {name: `${name}: lowest of rel L2 without one of the methods`, value: Math.min(...without)},
    {name: `${name}: highest of rel L2 without one of the methods`, value: Math.max(...without)},
  ]
}

/** With an interval that ends where correlations do. */
function correlationOf({estimate: {value, low, high}}: CrossedEstimate) {
  return {value, low: Math.max(-1, low), high: Math.min(1, high)}
}

function judge(runs: ClaimRuns): Judgement {
  const variants = variantsOf(runs.swap(CHARLM_RUN))
  const settings = SETTINGS.map(name => settingOf(name, variants))
  const main = settings.flatMap(({name, found}) =>
    testsAbove(`${name}: Spearman of rel L2 with damage`, found[PRINTED], LEAST),
  )
  const rivals = RIVALS.flatMap(error =>
    settings.map(({name, gains}) => ({
      hypothesis: `${name}: Spearman of ${ERRORS[error]} is at most that of rel L2`,
      p: gains[error].above(0),
    })),
  )
  return {
    quantities: settings.flatMap(quantitiesOf),
    tests: [...main, ...rivals],
    decide(rejected) {
      const higher = rejected.slice(main.length)
      const better = RIVALS.filter((_, at) =>
        settings.every((_, setting) => higher[settings.length * at + setting]),
      )
      return {
        verdict: verdictOf(answersOf(rejected.slice(0, main.length))),
        statement: `Spearman of rel L2 with damage: ${spearmanText(settings, PRINTED)}; ${betterText(settings, better)}`,
        explanation:
          'The error is relative to the output of attention, not to the residual stream that it is added to: a layer with small outputs can err much and cost little. Noise differs from token to token and averages out in the layers above; bias does not. An error that orders methods in one layer need not order layers.',
      }
    },
  }
}

/** `0.32 [0.20, 0.44] with all layers at once, ...`. */
function spearmanText(settings: readonly Setting[], error: ErrorName): string {
  return settings
    .map(({name, found}) => {
      const {value, low, high} = correlationOf(found[error])
      return `${significant(value, 2)} [${significant(low, 2)}, ${significant(high, 2)}] with ${name}`
    })
    .join(', ')
}

/** What is higher in both settings for certain, and the error of the highest correlation where it is lowest. */
function betterText(settings: readonly Setting[], better: readonly ErrorName[]): string {
  const worst = (name: ErrorName) =>
    Math.min(...settings.map(({found}) => found[name].estimate.value))
  const best = NAMES.toSorted((a, b) => worst(b) - worst(a))[0]!
  const certain = better.length > 0 ? `${better.map(name => ERRORS[name]).join(', ')}` : 'none'
  const highest =
    best === PRINTED
      ? 'it is the highest'
      : `highest: ${ERRORS[best]}, ${spearmanText(settings, best)}`
  return `higher in both, beyond chance: ${certain}; ${highest}`
}

export default {
  kind: 'tested',
  id: 'H30',
  sentence: 'The relative L2 error of attention outputs orders methods by the damage they do',
  source: 'what tables of errors are read for, here and elsewhere',
  paper:
    'no paper; one draw of all-MiniLM-L6-v2: Spearman 0.32 with all layers exchanged, -0.12 with one',
  ours: 'the packaged character model of 4 layers; errors on the hidden states of the original, damage in nats per token; methods, M and layers as cells',
  statistic:
    "Spearman's rank correlation between error and damage over cells, with intervals over draws and groups of texts by the bootstrap; the same of four other errors, and their gain on it",
  rule: `holds if the correlation is above ${LEAST} with all layers exchanged at once and with one layer at a time, beyond chance; refuted if it is below in both; depends if it is above in one`,
  plans: charlmRun,
  judge,
} satisfies TestedClaim
