/** Exact outputs by the native loop, held against the judge in TypeScript. */
import {afterAll, describe, expect, it} from 'vitest'
import {exactOutput} from '../../src/attention/exact.js'
import {
  type ExactTarget,
  exactAttention,
  loadEstimators,
  METHOD_NAMES,
  type MethodName,
} from '../../src/attention/index.js'
import {hasLoopForm} from '../../src/attention/internal.js'
import {type ExactOptions, type HostArray, targetHead} from '../../src/attention/reference.js'
import {estimatorNamed} from '../../src/attention/resolve.js'
import {nativeHostLoops} from '../../src/backends/native/host-loops.js'
import {bringHostLoops} from '../../src/host-loops.js'
import {rowEntropies} from '../../src/inputs/statistics.js'
import {arcCosineKernel} from '../../src/theory/kernels.js'
import {hostInputs, type Sizes, SMALL, shapeName} from '../helpers/arrays.js'
import {optionsOf} from '../helpers/estimator-case.js'
import {optionCases} from '../helpers/option-cases.js'
import {describeNative, instructionSets} from './addon.js'

await loadEstimators()

/** Half a unit in the last place of 1, in doubles. */
const UNIT = 2 ** -53

const SOFTMAX: ExactTarget = {kernel: 'softmax', inputs: 'canonical', inputScale: 1, label: ''}

interface Inputs {
  query: HostArray
  key: HostArray
  value: HostArray
}

describeNative('exact outputs', addon => {
  const loops = nativeHostLoops(addon)
  afterAll(() => {
    bringHostLoops({})
    addon.selectIsa('')
    addon.setThreads(1)
  })

  function compare(inputs: Inputs, options: ExactOptions): void {
    const {query, key, value} = inputs
    bringHostLoops(loops)
    const {output} = exactOutput(query, key, value, options)
    bringHostLoops({})
    const wanted = exactAttention(query, key, value, options)
    const angles = options.target.kernel === 'arc-cosine'
    const common = angles ? 0 : rowBound(inputs, options)
    const bounds = angles ? angleBounds(inputs, options) : undefined
    const largest = Math.max(...Array.from(value.data, Math.abs))
    for (let i = 0; i < wanted.length; i++) {
      const bound = largest * (bounds?.[Math.floor(i / value.shape[3])] ?? common)
      const difference = Math.abs(output[i]! - wanted[i]!)
      if (!(difference <= bound)) {
        expect.fail(`entry ${i}: ${output[i]} for ${wanted[i]}, bound ${bound}`)
      }
    }
  }

  describe.each(instructionSets())('on %s', isa => {
    const shapes: Sizes[] = [
      SMALL,
      {...SMALL, queryLen: 31, keyLen: 140, headDim: 8, valueDim: 16},
      {...SMALL, batch: 1, queryLen: 143, keyLen: 43, headDim: 33, valueDim: 1},
    ]
    const targets: Partial<ExactTarget>[] = [
      {},
      {inputs: 'unit', inputScale: 3, normEpsilon: 0.01},
      {inputs: 'raw', inputScale: 0.5, kernel: 'gaussian', constant: 0.3},
      {kernel: 'exponential', inputScale: 0.7},
      {kernel: 'arc-cosine', inputScale: 0.7},
      {kernel: 'arc-cosine', inputs: 'raw', excludesSelf: true},
      {constant: 2, excludesSelf: true},
      {dimensionScale: Float64Array.from({length: 3 * 64}, (_, i) => 0.5 + (i % 7) / 5)},
    ]
    it.each(
      shapes.flatMap(sizes =>
        targets.flatMap(target =>
          [false, true].map(causal => ({name: shapeName(sizes), sizes, target, causal})),
        ),
      ),
    )('$name $target causal $causal', ({sizes, target, causal}) => {
      addon.selectIsa(isa)
      compare(hostInputs(sizes), {target: {...SOFTMAX, ...target}, logitScale: 0.4, causal})
    })

    it('has no trouble with logits of some 1e4', () => {
      addon.selectIsa(isa)
      const {query, key, value} = hostInputs({...SMALL, keyLen: 300}, 60)
      for (const causal of [false, true]) {
        compare({query, key, value}, {target: SOFTMAX, logitScale: 1, causal})
        compare({query, key, value}, {target: {...SOFTMAX, constant: 1}, logitScale: 1, causal})
      }
    })

    it('gives entropies, those of the statistics', () => {
      addon.selectIsa(isa)
      const sizes = {...SMALL, queryLen: 29, keyLen: 650}
      const {query, key, value} = hostInputs(sizes, 5)
      for (const causal of [false, true]) {
        const options = {target: SOFTMAX, logitScale: 0.4, causal, entropies: true}
        bringHostLoops(loops)
        const {entropies} = exactOutput(query, key, value, options)
        // sum of p |l - top| besides, at most twice the range of logits of a row and the loop's slack of 8
        const range = 2 * Math.max(...magnitudes({query, key, value}, options)) + 8
        const bound = rowBound({query, key, value}, options) * (1 + 2 * range)
        const rows = Array.from({length: sizes.queryLen}, (_, row) => row)
        for (let head = 0; head < sizes.batch * sizes.heads; head++) {
          const input = {query, key} as Parameters<typeof rowEntropies>[0]
          const wanted = rowEntropies(input, head, {scale: 1, logitScale: 0.4, causal}, rows)
          const own = entropies!.subarray(head * rows.length, (head + 1) * rows.length)
          const differences = Array.from(wanted, (x, row) => Math.abs(own[row]! - x))
          expect(Math.max(...differences)).toBeLessThanOrEqual(bound)
        }
      }
    })
  })

  it('gives the same bits with two threads', () => {
    const {query, key, value} = hostInputs({...SMALL, queryLen: 257, keyLen: 263})
    const run = (threads: number) => {
      addon.setThreads(threads)
      bringHostLoops(loops)
      const options = {target: {...SOFTMAX, constant: 1}, logitScale: 0.4, causal: true}
      return exactOutput(query, key, value, {...options, entropies: true})
    }
    const one = run(1)
    const two = run(2)
    expect(two.output.every((x, i) => Object.is(x, one.output[i]))).toBe(true)
    expect(two.entropies!.every((x, i) => Object.is(x, one.entropies![i]))).toBe(true)
  })

  const targets = METHOD_NAMES.flatMap(targetsOf)
  it.each(targets)('target of $method $options', ({target}) => {
    addon.selectIsa('')
    const sizes = target.inputs === 'shared' ? {...SMALL, keyLen: SMALL.queryLen} : SMALL
    for (const causal of [false, true]) {
      compare(hostInputs(sizes), {target, logitScale: SMALL.headDim ** -0.5, causal})
    }
  })

  it('there are targets with and without a loop', () => {
    expect(new Set(targets.map(({target}) => hasLoopForm(target))).size).toBe(2)
  })
})

/** What a method converges to, with its defaults and with each option. */
function targetsOf(method: MethodName) {
  const tried = [{}, ...optionCases(method).map(({given}) => given.options ?? {})]
  const found = new Map<string, {method: MethodName; options: string; target: ExactTarget}>()
  for (const options of tried) {
    const parsed = optionsOf({method, options, sizes: SMALL})
    const target = estimatorNamed(method).target(parsed)
    const name = JSON.stringify(target)
    if (target) found.set(name, {method, options: JSON.stringify(options), target})
  }
  return [...found.values()]
}

/** Per head the largest sum of magnitudes that a logit is made of, by Cauchy-Schwarz. */
function magnitudes({query, key}: Inputs, {target, logitScale}: ExactOptions): number[] {
  const [batch, heads, , dim] = query.shape
  return Array.from({length: batch * heads}, (_, head) => {
    const {x, keys} = targetHead(query, key, head, {target, logitScale})
    const [queries, longest] = [longestOf(x, dim), Math.max(...keys.lengths)]
    const constant = target.constant ? Math.abs(Math.log(target.constant)) + queries ** 2 / 2 : 0
    return queries * longest + longest ** 2 / 2 + constant
  })
}

function longestOf(vectors: Float64Array, dim: number): number {
  let most = 0
  for (let at = 0; at < vectors.length; at += dim) {
    most = Math.max(most, Math.hypot(...vectors.subarray(at, at + dim)))
  }
  return most
}

/**
 * Relative to the largest value. A logit of either route is wrong by (D + 6) u of its terms' magnitudes M, once more
 * where the largest is taken off; a weight relatively by that and 2 u for its exponential, a sum of S of them by
 * S + 8 u and 3 u for each block of keys, of 128 or more. Numerator and denominator double it, the two routes once more.
 */
function rowBound(inputs: Inputs, options: ExactOptions): number {
  const [, , keyLen, headDim] = inputs.key.shape
  const logit = 2 * (headDim + 6) * Math.max(...magnitudes(inputs, options))
  return 4 * UNIT * (logit + 2 + keyLen + 8 + 3 * (keyLen / 128 + 2))
}

/**
 * The same for each row of the arc-cosine kernel. A cosine of either route is wrong by (D + 6) u, a weight by |y|
 * times pi times that and 12 u, a sum of S of them relatively by S + 8 u.
 */
function angleBounds({query, key}: Inputs, options: ExactOptions): number[] {
  const [batch, heads, queryLen, dim] = query.shape
  const bounds: number[] = []
  for (let head = 0; head < batch * heads; head++) {
    const {x, keys} = targetHead(query, key, head, options)
    const keyLen = keys.lengths.length
    for (let row = 0; row < queryLen; row++) {
      const own = x.subarray(row * dim, (row + 1) * dim)
      const view = options.causal ? Math.min(row + 1, keyLen) : keyLen
      let [sum, lengths] = [0, 0]
      for (let j = 0; j < view; j++) {
        if (options.target.excludesSelf && j === row && view > 1) continue
        const other = keys.vectors.subarray(j * dim, (j + 1) * dim)
        sum += arcCosineKernel(own, other) * 2 * Math.PI
        lengths += keys.lengths[j]! * Math.hypot(...own)
      }
      const weight = lengths * (Math.PI * (dim + 6) + 12)
      bounds.push(4 * UNIT * (weight / sum + keyLen + 8))
    }
  }
  return bounds
}
