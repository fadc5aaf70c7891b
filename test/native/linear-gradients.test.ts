import * as tf from '@tensorflow/tfjs-core'
import '@tensorflow/tfjs-core/dist/register_all_gradients.js'
import {describe, expect, it} from 'vitest'
import {recordOperations} from '../../src/attention/index.js'
import type {Guard} from '../../src/attention/kernels/guard.js'
import {
  type FeatureSpec,
  featureMap,
  linearAttention,
  linearAttentionRatio,
} from '../../src/attention/kernels/index.js'
import type {RecipeAttributes} from '../../src/attention/kernels/recipe.js'
import type {Projection} from '../../src/attention/types.js'
import {useBackend} from '../../src/backends/index.js'
import {normals, randomStream} from '../../src/random/index.js'
import {add, type BoundedMatrix, exactly} from '../helpers/bounded.js'
import {type HeadInputs, linearHead, mapOf} from '../helpers/linear-gradient-twin.js'
import {assertWithin} from '../helpers/rounding.js'
import {describeNative, describeOnEachIsa} from './addon.js'
import {guarded} from './guards.js'

const [BATCH, HEADS, HEAD_DIM, VALUE_DIM, ROWS] = [2, 3, 7, 5, 11]

interface Case {
  recipe: RecipeAttributes
  lengths: [queries: number, keys: number]
  causal?: boolean
  guard?: Guard
  mask?: boolean
  weights?: boolean
  gates?: boolean
  initial?: boolean
  /** One projection for all heads. */
  shared?: boolean
}

/** Every recipe, and every extra with some other one; lengths beyond two chunks of 48 tokens, and unequal ones. */
const CASES: Case[] = [
  {
    recipe: {kind: 'elu-plus-one'},
    lengths: [53, 101],
    mask: true,
    guard: {policy: 'none', bound: 0},
  },
  {
    recipe: {kind: 'trigonometric', unitNorm: true, normEpsilon: 0.25, inputScale: 0.5},
    ...{
      lengths: [101, 53],
      weights: true,
      mask: true,
      shared: true,
      guard: {policy: 'none', bound: 0},
    },
  },
  {
    recipe: {kind: 'relu', inputScale: 0.75, featureScale: 0.5},
    ...{lengths: [50, 50], guard: {policy: 'clamp', bound: 40}},
  },
  {recipe: {kind: 'explicit', featureScale: 0.5}, lengths: [49, 97]},
  {
    recipe: {kind: 'elu-plus-one', inputScale: 2},
    lengths: [101, 101],
    causal: true,
    guard: {policy: 'none', bound: 0},
  },
  {
    recipe: {kind: 'trigonometric', unitNorm: true, inputScale: 0.5},
    ...{
      ...{lengths: [101, 101], causal: true, gates: true, weights: true, mask: true},
      guard: {policy: 'none', bound: 0},
    },
  },
  {
    recipe: {kind: 'relu', unitNorm: true},
    ...{
      lengths: [60, 60],
      causal: true,
      gates: true,
      initial: true,
      guard: {policy: 'add', bound: 2},
    },
  },
  {recipe: {kind: 'explicit'}, lengths: [107, 50], causal: true, gates: true, initial: true},
  {
    recipe: {kind: 'elu-plus-one', unitNorm: true, featureScale: 0.5},
    ...{lengths: [53, 101], causal: true, weights: true, guard: {policy: 'none', bound: 0}},
  },
  {
    recipe: {kind: 'trigonometric', inputScale: 0.5},
    ...{lengths: [50, 50], causal: true, mask: true, guard: {policy: 'abs-clamp', bound: 1}},
  },
  {
    recipe: {kind: 'trigonometric', featureScale: 0.5},
    ...{lengths: [50, 50], causal: true, shared: true, guard: {policy: 'nudge', bound: 1}},
  },
]

function titleOf({recipe, lengths, causal, guard, ...extras}: Case): string {
  const own = Object.keys(extras).join(', ')
  return `${recipe.kind} of ${lengths.join(' and ')}${causal ? ', causal' : ''}, ${guard?.policy ?? 'sums'} ${own}`
}

/** Arrays of a case by the names of inputs, in the layout of tensors. */
function arraysOf({
  recipe,
  lengths: [queryLen, keyLen],
  shared,
  weights,
  gates,
  initial,
}: Case): Arrays {
  const draw = (name: string, ...shape: number[]) => {
    const size = tf.util.sizeFromShape(shape)
    return {shape, data: Float32Array.from(normals(randomStream(1, `test.linear.${name}`), size))}
  }
  const double = recipe.kind === 'trigonometric'
  const projected = double || recipe.kind === 'relu'
  const features = double ? 2 * ROWS : projected ? ROWS : HEAD_DIM
  const heads = [BATCH, HEADS]
  const rows = shared ? [ROWS, HEAD_DIM] : [HEADS, ROWS, HEAD_DIM]
  const logGate = draw('gate', ...heads, keyLen)
  return {
    query: draw('query', ...heads, queryLen, HEAD_DIM),
    key: draw('key', ...heads, keyLen, HEAD_DIM),
    value: draw('value', ...heads, keyLen, VALUE_DIM),
    ...(projected && {
      queryProjection: draw('rows', ...rows),
      keyProjection: draw('more', ...rows),
    }),
    ...(weights && {keyLogWeight: draw('weight', ...heads, keyLen)}),
    ...(gates && {logGate: {...logGate, data: logGate.data.map(x => -0.2 * Math.abs(x))}}),
    ...(initial && {
      initialState: draw('state', ...heads, features, VALUE_DIM),
      initialNormalizer: draw('total', ...heads, features),
    }),
  }
}

type Name = keyof HeadInputs
type Arrays = {[name in Name]?: {shape: number[]; data: Float32Array}}

/** Of the keys of each batch element. */
function presence({mask, lengths: [, keyLen]}: Case, batch: number): boolean[] {
  return Array.from({length: keyLen}, (_, j) => !mask || (j * 5 + batch) % 3 > 0)
}

/** Slopes of both outputs; weights leave denominators up to a factor, and so without a slope. */
function slopesOf({lengths: [queryLen], weights}: Case) {
  const count = BATCH * HEADS * queryLen
  const draw = (name: string, size: number) =>
    Float32Array.from(normals(randomStream(2, `test.linear.${name}`), size))
  const denominators = draw('denominators', count)
  return {
    out: draw('out', count * VALUE_DIM),
    denominator: weights ? denominators.fill(0) : denominators,
  }
}

/** What the operation gives, by name, on the backend in force. */
function gradientsOf(given: Case): {made: Record<string, Float32Array>; form: string | undefined} {
  const {recipe, lengths, causal = false, guard} = given
  const arrays = arraysOf(given)
  const names = Object.keys(arrays) as Name[]
  const {out, denominator} = slopesOf(given)
  const masks = [0, 1].flatMap(batch => presence(given, batch).map(Number))
  return tf.tidy(() => {
    const total = (...tensors: tf.Tensor[]) => {
      const of = Object.fromEntries(names.map((name, at) => [name, tensors[at]])) as Record<
        Name,
        tf.Tensor
      >
      const side = (x: tf.Tensor, projection: tf.Tensor | undefined): FeatureSpec => ({
        ...{...recipe, x, projection: projection as Projection | undefined},
      })
      const options = {
        ...{causal, keyLogWeight: of.keyLogWeight, logGate: of.logGate},
        keyMask: given.mask ? tf.tensor2d(masks, [BATCH, lengths[1]], 'bool') : undefined,
        initialState: given.initial
          ? {state: of.initialState, normalizer: of.initialNormalizer}
          : undefined,
      }
      const sides = [side(of.query, of.queryProjection), side(of.key, of.keyProjection)] as const
      const result = guard
        ? linearAttentionRatio(...sides, of.value, guard, options)
        : linearAttention(...sides, of.value, options)
      const [first, second] = Object.values(result) as [tf.Tensor, tf.Tensor]
      const weigh = (tensor: tf.Tensor, by: Float32Array) =>
        tf.sum(tf.mul(tensor, tf.tensor(by, tensor.shape)))
      return tf.add(weigh(first, out), weigh(second, denominator)) as tf.Scalar
    }
    const tensors = names.map(name => tf.tensor(arrays[name]!.data, arrays[name]!.shape))
    const {result, operations} = recordOperations(() => tf.grads(total)(tensors))
    const made = names.map((name, at) => [name, result[at]!.dataSync().slice() as Float32Array])
    return {made: Object.fromEntries(made), form: operations.LinearAttentionGradient}
  })
}

/** Inputs of one head. */
function headOf(arrays: Arrays, batch: number, head: number): HeadInputs {
  const part = (name: Name, at: number): BoundedMatrix | undefined => {
    const given = arrays[name]
    if (!given) return undefined
    const {shape, data} = given
    const [rows, columns] =
      shape.length === 3 && !isProjection(name)
        ? [1, shape[2]!]
        : (shape.slice(-2) as [number, number])
    const first = at * rows * columns
    return exactly(data.subarray(first, first + rows * columns), rows, columns)
  }
  const own = (name: Name) => part(name, batch * HEADS + head)
  const ofHead = (name: Name) => part(name, arrays[name]?.shape.length === 2 ? 0 : head)
  return {
    ...{query: own('query')!, key: own('key')!, value: own('value')!},
    ...{queryProjection: ofHead('queryProjection'), keyProjection: ofHead('keyProjection')},
    ...{keyLogWeight: own('keyLogWeight'), logGate: own('logGate')},
    ...{initialState: own('initialState'), initialNormalizer: own('initialNormalizer')},
  }
}

const isProjection = (name: string) => name.endsWith('Projection')

function twinOf(given: Case, batch: number, head: number) {
  const {recipe, lengths, causal = false, guard} = given
  const slopes = slopesOf(given)
  const at = batch * HEADS + head
  const part = (data: Float32Array, columns: number) =>
    exactly(
      data.subarray(at * lengths[0] * columns, (at + 1) * lengths[0] * columns),
      lengths[0],
      columns,
    )
  const headCase = {query: recipe, key: recipe, causal, guard, present: presence(given, batch)}
  return {headCase, out: part(slopes.out, VALUE_DIM), denominator: part(slopes.denominator, 1)}
}

/** The twin's gradients in the layout of tensors; those of projections are summed over the heads that share them. */
function judgeOf(given: Case) {
  const arrays = arraysOf(given)
  const judge = new Map<string, BoundedMatrix[]>(Object.keys(arrays).map(name => [name, []]))
  for (let batch = 0; batch < BATCH; batch++) {
    for (let head = 0; head < HEADS; head++) {
      const {headCase, out, denominator} = twinOf(given, batch, head)
      const made = linearHead(headOf(arrays, batch, head), headCase).gradients(out, denominator)
      for (const [name, parts] of judge) {
        const own = made[name as Name]!
        const place = !isProjection(name) ? parts.length : given.shared ? 0 : head
        parts[place] = parts[place] ? add(parts[place], own) : own
      }
    }
  }
  return judge
}

const joined = (parts: BoundedMatrix[], of: 'value' | 'error') =>
  parts.flatMap(part => Array.from(part[of]))

function holdToTwin(given: Case, made: Record<string, Float32Array>) {
  for (const [name, parts] of judgeOf(given)) {
    const result = assertWithin(name, made[name]!, joined(parts, 'value'), joined(parts, 'error'))
    // otherwise the bound says nothing
    expect(result.decidable, name).toBeGreaterThan(0.9 * made[name]!.length)
  }
}

describe('gradients of linear attention in double precision', () => {
  it.each(CASES.map(given => [titleOf(given), given] as const))(
    '%s: as differences',
    (_title, given) => {
      const arrays = arraysOf(given)
      const {headCase, out, denominator} = twinOf(given, 1, 2)
      const inputs = headOf(arrays, 1, 2)
      const loss = () => {
        const made = linearHead(inputs, headCase)
        const sum = (a: BoundedMatrix, b: BoundedMatrix) =>
          a.value.reduce((all, x, i) => all + x * b.value[i]!, 0)
        return sum(made.out, out) + sum(made.denominator, denominator)
      }
      const slopes = linearHead(inputs, headCase).gradients(out, denominator)
      // bounds of float32 are those of double but for the unit of rounding
      const size = (a: BoundedMatrix, b: BoundedMatrix) =>
        a.error.reduce((all, x, i) => all + x * Math.abs(b.value[i]!), 0)
      const made = linearHead(inputs, headCase)
      const rounding = 2 ** -29 * (size(made.out, out) + size(made.denominator, denominator))
      for (const name of Object.keys(arrays) as Name[]) {
        const values = inputs[name]!.value
        for (const at of [0, Math.floor(values.length / 2), values.length - 1]) {
          const x = values[at]!
          const difference = (h: number) => {
            values[at] = x + h
            const above = loss()
            values[at] = x - h
            const below = loss()
            values[at] = x
            return (above - below) / (2 * h)
          }
          const [wide, narrow] = [difference(2 ** -12), difference(2 ** -13)]
          // errors of h^2: that of the narrow one is a third of the difference; roundings of a loss over h
          const bound = Math.abs(wide - narrow) + rounding * 2 ** 13
          expect(Math.abs(slopes[name]!.value[at]! - narrow), `${name} ${at}`).toBeLessThanOrEqual(
            bound,
          )
        }
      }
    },
  )

  it.each(CASES.map(given => [titleOf(given), given] as const))(
    '%s: the composite',
    async (_title, given) => {
      await useBackend('cpu')
      holdToTwin(given, gradientsOf(given).made)
    },
  )
})

/** Maps with a projection of each head, raw tokens and unit vectors. */
const MAPS = (['trigonometric', 'relu', 'log-positive', 'log-hyperbolic'] as const).flatMap(kind =>
  [false, true].map(unitNorm => ({
    kind,
    unitNorm,
    inputScale: 0.5,
    normEpsilon: unitNorm ? 0.25 : 0,
  })),
)

/** Slopes of tokens and projection against the twin's, of one batch element. */
function holdMapToTwin({kind, ...scaling}: (typeof MAPS)[number]) {
  const [length, rows] = [101, ROWS]
  const count = kind === 'relu' || kind === 'log-positive' ? rows : 2 * rows
  const draw = (name: string, size: number) =>
    Float32Array.from(normals(randomStream(3, `test.maps.${name}`), HEADS * size))
  const [x, w, u] = [
    draw('x', length * HEAD_DIM),
    draw('w', rows * HEAD_DIM),
    draw('u', length * count),
  ]
  const made = tf.tidy(() =>
    tf
      .grads((tokens, projection) => featureMap(tokens, projection as tf.Tensor3D, kind, scaling))(
        [tf.tensor(x, [1, HEADS, length, HEAD_DIM]), tf.tensor(w, [HEADS, rows, HEAD_DIM])],
        tf.tensor(u, [1, HEADS, length, count]),
      )
      .map(slope => slope.dataSync().slice()),
  )
  const part = (data: Float32Array, head: number, columns: number) =>
    exactly(
      data.subarray((data.length / HEADS) * head, (data.length / HEADS) * (head + 1)),
      data.length / HEADS / columns,
      columns,
    )
  const wanted = [0, 1, 2].map(head => {
    const map = mapOf(part(x, head, HEAD_DIM), part(w, head, HEAD_DIM), {kind, ...scaling})
    return map.back(part(u, head, count))
  })
  const parts = [wanted.map(({tokens}) => tokens), wanted.map(({projection}) => projection!)]
  parts.forEach((all, at) => {
    const result = assertWithin(
      `${kind} ${at}`,
      made[at]!,
      joined(all, 'value'),
      joined(all, 'error'),
    )
    expect(result.decidable).toBe(made[at]!.length)
  })
}

it.each(MAPS)(
  'gradients of $kind features, unit vectors: $unitNorm, of the composite',
  async map => {
    await useBackend('cpu')
    holdMapToTwin(map)
  },
)

describeNative('gradients of linear attention', addon => {
  describeOnEachIsa(addon, () => {
    it.each(MAPS)('$kind features, unit vectors: $unitNorm', async map => {
      await useBackend('native')
      guarded(() => holdMapToTwin(map))
    })

    it.each(CASES.map(given => [titleOf(given), given] as const))('%s', async (_title, given) => {
      await useBackend('native')
      const {made, form} = guarded(() => gradientsOf(given))
      expect(form).toBe('fused')
      holdToTwin(given, made)
    })
  })

  it('keep nothing of L x F numbers: a gate slope of each token, and a reference of each chunk', async () => {
    await useBackend('native')
    const bytes = [1024, 4096].map(length => {
      const draw = (seed: number, shape: number[]) => {
        const values = normals(randomStream(seed, 'memory'), tf.util.sizeFromShape(shape))
        return tf.tensor(Float32Array.from(values), shape)
      }
      const tokens = [0, 1, 2].map(seed => draw(seed, [1, 1, length, 4]))
      const rows = draw(3, [64, 4]) as tf.Tensor2D
      const logGate = tf.zeros<tf.Rank.R3>([1, 1, length])
      addon.releaseWorkspace()
      const side = (x: tf.Tensor): FeatureSpec => ({kind: 'relu', x, projection: rows})
      const slopes = tf.grads((q: tf.Tensor, k: tf.Tensor, v: tf.Tensor) => {
        const options = {causal: true, logGate}
        return linearAttention(side(q), side(k), v as tf.Tensor4D, options).numerator
      })(tokens)
      tf.dispose([...tokens, ...slopes, rows, logGate])
      return addon.workspaceBytes()
    })
    const [tokens, more] = [4096 - 1024, bytes[1]! - bytes[0]!]
    expect(more).toBeGreaterThan(0)
    expect(more).toBeLessThanOrEqual(4 * (tokens + tokens / 48 + 64))
  })

  it('are the same bits for any number of threads', async () => {
    const made = await Promise.all(
      [1, 3].map(async threads => {
        await useBackend('native', {threads})
        return CASES.map(given => gradientsOf(given).made)
      }),
    )
    expect(made[1]).toEqual(made[0])
  })
})
