import * as tf from '@tensorflow/tfjs-core'
import {beforeAll, describe, expect, it} from 'vitest'
import {
  causalFeatureAttention,
  type FeatureRecipe,
  featureMap,
  linearAttention,
  linearAttentionRatio,
  softmaxAttention,
} from '../../src/attention/index.js'
import {useBackend} from '../../src/backends/index.js'
import {RfaError} from '../../src/errors.js'
import {compute, hostNormals} from '../helpers/arrays.js'
import {runnableBackends} from '../helpers/backends.js'
import {ELEMENTARY, gamma, U} from '../helpers/rounding.js'

const backends = (await runnableBackends()).filter(name => name !== 'cpu')

// small, so that bounds on whole sums stay far below what another meaning of an option changes
const [BATCH, HEADS, QUERIES, KEYS, DIM, VALUE_DIM, ROWS] = [2, 2, 7, 5, 3, 2, 4]

/** Numbers of at most 1, the same for the same name. */
function draw(name: string, ...shape: number[]): tf.Tensor {
  const [a = 1, b = 1, c = 1, d = 1] = shape
  const {data} = hostNormals(`operations.${name}`, [a, b, c, d])
  return tf.tensor(Float32Array.from(data, Math.tanh), shape)
}
const tokens = (name: string, ...shape: [number, number, number, number]) =>
  draw(name, ...shape) as tf.Tensor4D

/** Every choice of one value of each. */
function combinations<T extends Record<string, readonly unknown[]>>(
  choices: T,
): {[Name in keyof T]: T[Name][number]}[] {
  return Object.entries(choices).reduce(
    (all, [name, values]) => all.flatMap(some => values.map(value => ({...some, [name]: value}))),
    [{}] as object[],
  ) as {[Name in keyof T]: T[Name][number]}[]
}

type Outcome = Float32Array[] | {code: string; message: string}

function outcome(body: () => tf.Tensor[]): Outcome {
  try {
    return compute(body)
  } catch (error) {
    if (!(error instanceof RfaError)) throw error
    return {code: error.code, message: error.message}
  }
}

/**
 * Most that a result may be off, on either side. With inputs and their scales of at most 1, a projection
 * is at most DIM and off by `gamma(DIM + 4)` of that, features and exponents likewise; factors on features are
 * at most 2. A sum over keys and features takes `KEYS F` products of two features, a key's weight and a value.
 */
const ARGUMENT = DIM
const ARGUMENT_ERROR = gamma(DIM + 4) * (ARGUMENT + ARGUMENT ** 2 / 2) + ELEMENTARY * U
const FEATURE = 2 * (ARGUMENT + 1)
const FEATURE_ERROR = 2 * ARGUMENT_ERROR + ELEMENTARY * U * FEATURE
const TERMS = (KEYS + 1) * 2 * ROWS
// weights of keys are within [e^-1, e] of each other and relative to the largest
const SUM_ERROR = TERMS * FEATURE * (2 * FEATURE_ERROR + gamma(TERMS + 16) * FEATURE)
/** Of a mean of values of at most 1 under weights that are off by twice the error of their logarithms. */
const MEAN_ERROR = 4 * ARGUMENT_ERROR * DIM + 2 * gamma(TERMS + 16)

function agree(actual: Outcome, judge: Outcome, bound: number): boolean {
  if (!Array.isArray(actual) || !Array.isArray(judge))
    return JSON.stringify(actual) === JSON.stringify(judge)
  return judge.every((values, n) =>
    values.every((y, i) => {
      const x = actual[n]![i]!
      return Object.is(x, y) || Math.abs(x - y) <= 2 * bound
    }),
  )
}

const KINDS = [
  'explicit',
  'elu-plus-one',
  'trigonometric',
  'relu',
  'log-positive',
  'log-hyperbolic',
] as const

/** A side of an operation: tokens, explicit features of the length that the other side has, or a recipe. */
function side(
  name: string,
  length: number,
  given: Omit<FeatureRecipe, 'projection'>,
  shared: boolean,
) {
  const projection = (shared ? draw('w', ROWS, DIM) : draw('w', HEADS, ROWS, DIM)) as tf.Tensor2D
  const projected = given.kind !== 'explicit' && given.kind !== 'elu-plus-one'
  const x = tokens(name, BATCH, HEADS, length, DIM)
  // positive where the features themselves are asked for
  return {
    ...given,
    x: given.kind === 'explicit' ? (tf.abs(x) as tf.Tensor4D) : x,
    ...(projected && {projection}),
  }
}

const RECIPES = combinations({
  kind: KINDS,
  inputScale: [undefined, 0.5],
  featureScale: [undefined, 2],
  unitNorm: [undefined, true],
  normEpsilon: [undefined, 0.5],
}).map(recipe => JSON.parse(JSON.stringify(recipe)) as Omit<FeatureRecipe, 'projection'>)

interface Case {
  name: string
  bound: number
  body: () => tf.Tensor[]
}

const values = () => tokens('v', BATCH, HEADS, KEYS, VALUE_DIM)
const mask = () => tf.greater(draw('mask', BATCH, KEYS), 0) as tf.Tensor2D
const perKey = (name: string) => draw(name, BATCH, HEADS, KEYS) as tf.Tensor3D

const MAPS: Case[] = combinations({kind: KINDS, shared: [false, true]}).map(({kind, shared}) => ({
  name: `featureMap ${kind}`,
  bound: FEATURE_ERROR,
  body: () => {
    const {x, projection} = side('x', QUERIES, {kind: 'relu'}, shared)
    return [featureMap(x, projection!, kind as 'relu')]
  },
}))

const LOGARITHMS: Case[] = RECIPES.flatMap(recipe =>
  [false, true].map(masked => ({
    name: `causalFeatureAttention ${JSON.stringify({...recipe, masked})}`,
    bound: MEAN_ERROR,
    body: () => {
      const [query, key] = [side('q', QUERIES, recipe, masked), side('k', KEYS, recipe, false)]
      return [causalFeatureAttention(query, key, values(), masked ? mask() : undefined)]
    },
  })),
)

const SUMS: Case[] = RECIPES.flatMap((recipe, n) =>
  combinations({
    causal: [false, true],
    keyMask: [false, true],
    logGate: [false, true],
    keyLogWeight: [false, true],
    initialState: [false, true],
    // the other forms take turns
  })
    .filter((_, i) => (i + n) % 8 === 0)
    .map(given => ({
      name: `linearAttention ${JSON.stringify({...recipe, ...given})}`,
      bound: SUM_ERROR,
      body: () => {
        const query = side('q', QUERIES, recipe, given.causal)
        const key = side('k', KEYS, recipe, false)
        const width = {explicit: DIM, 'elu-plus-one': DIM, relu: ROWS, 'log-positive': ROWS}[
          recipe.kind as 'relu'
        ]
        const initialState = {
          state: tokens('s', BATCH, HEADS, width ?? 2 * ROWS, VALUE_DIM),
          normalizer: draw('z', BATCH, HEADS, width ?? 2 * ROWS) as tf.Tensor3D,
        }
        const options = {
          causal: given.causal,
          ...(given.keyMask && {keyMask: mask()}),
          ...(given.logGate && {logGate: tf.sub(perKey('gate'), 1) as tf.Tensor3D}),
          ...(given.keyLogWeight && {keyLogWeight: perKey('weight')}),
          ...(given.initialState && {initialState}),
        }
        const {numerator, denominator} = linearAttention(query, key, values(), options)
        if (!given.keyLogWeight) return [numerator, denominator]
        // with weights of keys both share an unknown factor: what is left is the sign
        const sure = tf.greater(tf.abs(denominator), 2 * SUM_ERROR)
        return [tf.mul(tf.sign(denominator), sure)]
      },
    })),
)

const RATIOS: Case[] = combinations({
  kind: ['explicit', 'elu-plus-one', 'relu'] as const,
  other: ['explicit', 'elu-plus-one', 'relu', 'log-positive'] as const,
  causal: [false, true],
  guard: ['add:1', 'clamp:1', 'abs-clamp:2'],
}).map(({kind, other, causal, guard}) => ({
  name: `linearAttentionRatio ${kind} ${other} ${causal} ${guard}`,
  // a denominator of at least 1 below
  bound: SUM_ERROR * (1 + TERMS * FEATURE ** 2),
  body: () => {
    const query = side('q', QUERIES, {kind}, false)
    const key = side('k', KEYS, {kind: other}, true)
    // ready features of one side beside a recipe of the other have the recipe's number of features
    const ready = tf.abs(tokens('ready', BATCH, HEADS, QUERIES, ROWS)) as tf.Tensor4D
    const first = kind === 'explicit' && other === 'relu' ? ready : query
    const {out, denominator} = linearAttentionRatio(first, key, values(), guard, {causal})
    return [out, denominator]
  },
}))

const EXACT: Case[] = combinations({
  causal: [false, true],
  keyMask: [undefined, KEYS, KEYS + 1],
  keyBias: [false, true],
  scale: [undefined, 0.5, -1, 0],
  sharedBatch: [false, true],
  sharedHeads: [false, true],
}).map(given => ({
  name: `softmaxAttention ${JSON.stringify(given)}`,
  bound: MEAN_ERROR,
  body: () => {
    const batch = given.sharedBatch ? 1 : BATCH
    const heads = given.sharedHeads ? 1 : HEADS
    const {causal, scale, keyMask, keyBias} = given
    const options = {
      ...{causal, ...(scale !== undefined && {scale})},
      ...(keyMask !== undefined && {keyMask: tf.ones<tf.Rank.R2>([BATCH, keyMask])}),
      ...(keyBias && {keyBias: perKey('bias')}),
    }
    const query = tokens('q', BATCH, HEADS, QUERIES, DIM)
    const key = tokens('k', batch, heads, KEYS, DIM)
    const {out, lse} = softmaxAttention(query, key, values(), options)
    return [out, lse]
  },
}))

const CASES = {
  featureMap: MAPS,
  causalFeatureAttention: LOGARITHMS,
  linearAttention: SUMS,
  linearAttentionRatio: RATIOS,
  softmaxAttention: EXACT,
}

describe('bounds', () => {
  it('stay below what another meaning of an option changes', () => {
    expect(SUM_ERROR).toBeLessThan(0.05)
    expect(MEAN_ERROR).toBeLessThan(0.001)
  })
})

describe.each(Object.entries(CASES))('%s, whatever it is asked for,', (_name, cases) => {
  let judges: Outcome[]
  beforeAll(async () => {
    await useBackend('cpu')
    judges = cases.map(({body}) => outcome(body))
  })

  it('is taken or refused', () => {
    expect(judges.some(Array.isArray)).toBe(true)
    expect(judges.every(Array.isArray)).toBe(false)
  })

  it.each(backends)('is on %s what it is on cpu, or refused with the same words', async backend => {
    await useBackend(backend)
    cases.forEach(({name, bound, body}, i) => {
      const actual = outcome(body)
      const judge = judges[i]!
      if (!agree(actual, judge, bound)) {
        expect({name, outcome: actual}).toEqual({name, outcome: judge})
      }
    })
  })
})
