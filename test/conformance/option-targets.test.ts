/** What `target` says of a method with its options, against limits that are reached without sampling. */
import {describe, expect, it} from 'vitest'
import {
  exactAttention,
  loadEstimators,
  METHOD_NAMES,
  type MethodName,
} from '../../src/attention/index.js'
import {estimatorNamed, usesProjection} from '../../src/attention/resolve.js'
import {hostInputs, type Sizes} from '../helpers/arrays.js'
import {sample} from '../helpers/effort.js'
import {type EstimatorCase, optionsOf, twinOfCase} from '../helpers/estimator-case.js'
import {optionCases} from '../helpers/option-cases.js'
import type {HostProjection} from '../helpers/twins/index.js'

await loadEstimators()

/** Options that take a method away from what it is an estimate of, with the reason. */
const DEPARTURES: Readonly<Record<string, string>> = {
  denGuard: 'a guard adds to denominators',
  featureEpsilon: 'an epsilon adds a share of the mean of V',
  normalizerEpsilon: 'an epsilon adds to denominators',
  scaledTwice: 'the peer attends at another scale than the call asks for',
  sums: 'the two sides get different features',
  count: 'chunks beside the keys that they consist of',
  localKeys: 'keys count once more in their chunks',
}

function departs({options}: Variant): boolean {
  return Object.keys(options).some(name => name in DEPARTURES)
}

interface Variant {
  method: MethodName
  options: Record<string, unknown>
}

/** Whether a method says with these options what it is an estimate of. */
function hasTarget(variant: Variant, sizes: Sizes): boolean {
  return estimatorNamed(variant.method).target(optionsOf({...variant, sizes})) !== undefined
}

/** Each option of a method off its default, where it acts, and the defaults. */
function variants(method: MethodName): Variant[] {
  const tried = optionCases(method).map(({given}) => given.options ?? {})
  const distinct = new Map([{}, ...tried].map(options => [JSON.stringify(options), options]))
  return [...distinct.values()].map(options => ({method, options}))
}

const named = (list: readonly Variant[]) =>
  list.map(variant => [`${variant.method} ${JSON.stringify(variant.options)}`, variant] as const)

/** Largest difference between the twin's output and exact attention to the declared target. */
function distance(given: EstimatorCase): number {
  const {inputs, sizes} = given
  const {query, key, value} = inputs!
  const target = estimatorNamed(given.method).target(optionsOf(given))!
  const out = twinOfCase(given).out.value
  const asked = {target, logitScale: sizes.headDim ** -0.5, causal: false}
  const exact = exactAttention(query, key, value, asked)
  return out.reduce((most, x, at) => Math.max(most, Math.abs(x - exact[at]!)), 0)
}

const PLANE: Sizes = {
  ...{batch: 1, heads: 1, queryLen: 3, keyLen: 5, headDim: 2, valueDim: 3},
  numFeatures: 0,
}

/**
 * Rows of the plane that stand for N(0, I): evenly spaced angles, and lengths at the quantiles
 * `(n - 1/2) / rings` of their law. Means over them are midpoint rules: with four times as many rings the error of
 * bounded features is at most a quarter, that of features which grow like exp(|w|^2 / 8) about half; where kernel
 * and target differ, it stays.
 */
function polarRows(rings: number, angles: number): HostProjection {
  const data = new Float64Array(2 * rings * angles)
  for (let ring = 0; ring < rings; ring++) {
    const length = Math.sqrt(-2 * Math.log(1 - (ring + 0.5) / rings))
    for (let n = 0; n < angles; n++) {
      const angle = (2 * Math.PI * (n + 0.5)) / angles
      data[2 * (ring * angles + n)] = length * Math.cos(angle)
      data[2 * (ring * angles + n) + 1] = length * Math.sin(angle)
    }
  }
  return {data, numFeatures: rings * angles, perHead: false}
}

/** Distances from the target with few rows, and with four times as many rings and angles. */
function limits({method, options}: Variant): [number, number] {
  const inputs = hostInputs(PLANE, 0.4)
  const rows = [polarRows(24, 24), polarRows(96, 96)]
  const [coarse, fine] = rows.map(projection => {
    const sizes = {...PLANE, numFeatures: projection.numFeatures}
    return distance({method, options, sizes, inputs, projection})
  })
  return [coarse!, fine!]
}

/** Below it is rounding of sums over rows and of their cosines. */
const ROUNDING = 1e-9

const LIMITS: Variant[] = (() => {
  const projecting = METHOD_NAMES.filter(method => {
    const {kernel, noise} = estimatorNamed(method)
    return kernel && !noise
  }).flatMap(variants)
  return projecting.filter(variant => {
    const options = optionsOf({...variant, sizes: PLANE})
    const projects = usesProjection(estimatorNamed(variant.method), options)
    return projects && hasTarget(variant, PLANE) && !departs(variant)
  })
})()

describe('the limit over all rows', () => {
  it.each(named(sample(LIMITS, 2, 0)))('%s: is the declared target', (_name, variant) => {
    const [coarse, fine] = limits(variant)
    expect(fine).toBeLessThanOrEqual((3 / 4) * coarse + ROUNDING)
    expect(fine).toBeLessThan(0.05)
  })
})

/** One sequence of 6 tokens that a single window, chunk or set of landmarks can hold. */
const WHOLE: Sizes = {...PLANE, heads: 2, queryLen: 6, keyLen: 6, headDim: 5, numFeatures: 6}

/** Options with which a method sees all keys one by one, whatever the others are; the rest see them with any. */
const EVERYTHING: Partial<Record<MethodName, Record<string, unknown>>> = {
  reformer: {chunkSize: 6},
  eva: {window: 6},
  nystrom: {iterations: 30},
}

/** Methods that estimate nothing once they see all keys: they draw no numbers, and no M limits them. */
const EXHAUSTIBLE = METHOD_NAMES.filter(method => {
  const {projection, noise, sizedBy} = estimatorNamed(method)
  return method in EVERYTHING || !(projection || noise || sizedBy)
})

const WHOLES: Variant[] = (() => {
  const all = EXHAUSTIBLE.flatMap(method =>
    variants(method).map(({options}) => ({
      method,
      options: {
        ...options,
        ...EVERYTHING[method],
        ...('gridWidth' in options && {gridWidth: 3}),
      },
    })),
  )
  return all.filter(variant => hasTarget(variant, WHOLE) && !departs(variant))
})()

describe('a call that sees every key', () => {
  it.each(named(WHOLES))('%s: gives the declared target', (_name, variant) => {
    const inputs = hostInputs(WHOLE, 0.7)
    const found = distance({...variant, sizes: WHOLE, inputs})
    const remedy =
      'a method without draws and M needs an entry in EVERYTHING, or an option in DEPARTURES'
    expect(found, `distance from the target; ${remedy}`).toBeLessThan(ROUNDING)
  })
})

describe('options that change a target', () => {
  it.each(METHOD_NAMES)('of %s: each is tried where the limit is the target', method => {
    const targetOf = (options: Record<string, unknown>) =>
      JSON.stringify(estimatorNamed(method).target(optionsOf({method, options, sizes: PLANE})))
    const tried = [...LIMITS, ...WHOLES].filter(variant => variant.method === method)
    for (const {given, option, plain} of optionCases(method)) {
      const [changed, before] = [given, plain].map(({options = {}}) => targetOf(options))
      if (changed === before || changed === undefined) continue
      const values = tried.filter(({options}) => options[option] === given.options?.[option])
      expect(values, `${option}: ${before} to ${changed}`).not.toEqual([])
    }
  })
})

describe('departures', () => {
  it('are those of options that exist', () => {
    const known = METHOD_NAMES.flatMap(method => Object.keys(estimatorNamed(method).options.shape))
    expect(known).toEqual(expect.arrayContaining(Object.keys(DEPARTURES)))
  })
})
