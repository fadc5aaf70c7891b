/** Every option of every method off its default, in every form, derived from the registry. */
import type {MethodName} from '../../src/attention/index.js'
import {estimatorNamed, usesProjection} from '../../src/attention/resolve.js'
import {type RandomStream, randomStream} from '../../src/random/index.js'
import type {Sizes} from './arrays.js'
import {SLOW} from './effort.js'
import {caseName, type EstimatorCase, hostCase, optionsOf, twinOfCase} from './estimator-case.js'
import {COMMON_BESIDE, COMMON_SILENT, type Form, type Place, placesOf} from './option-places.js'
import {type OptionFacts, optionFacts} from './option-values.js'
import type {TwinResult} from './twins/index.js'

const SEED = 20261
/** Random numbers per numeric option and place. */
const NUMBERS = SLOW ? 8 : 1
/** Sets of options drawn at once, per method and form. */
const SETS = SLOW ? 24 : 1

/** One value of one option beside those that let it act. */
export interface OptionCase {
  name: string
  option: string
  form: Form
  given: EstimatorCase
  /** The same call with the option as it is by default. */
  plain: EstimatorCase
  /** Why the value changes nothing. */
  silent?: string | undefined
  /** Why the call is refused. */
  refused?: string | undefined
}

/** Forms that a method has. */
function formsOf(method: MethodName): Form[] {
  const {supports} = estimatorNamed(method)
  return [
    ...(supports.bidirectional ? (['bidirectional'] as const) : []),
    ...(supports.causal ? (['causal'] as const) : []),
  ]
}

/** Few tokens; the causal form has as many queries as keys, so that a decoder can follow. */
function sizesOf(method: MethodName, form: Form): Sizes {
  const {supports, sizedBy, featureDim, options} = estimatorNamed(method)
  const square = form === 'causal' || !supports.cross
  const counted = sizedBy !== undefined && featureDim(7, 5, options.parse({})) === 0
  const sizes = {batch: 2, heads: 2, headDim: 5, valueDim: 3, numFeatures: counted ? 4 : 7}
  if ('gridHeight' in options.shape) return {...sizes, queryLen: 16, keyLen: 16} // a square of tokens
  return square ? {...sizes, queryLen: 12, keyLen: 12} : {...sizes, queryLen: 13, keyLen: 7}
}

/** A call of the method with these options. */
function callOf(method: MethodName, form: Form, rest: Partial<EstimatorCase>) {
  const sizes = rest.sizes ?? sizesOf(method, form)
  return {method, sizes, causal: form === 'causal', inputScale: 0.7, ...rest} as EstimatorCase
}

/** Each option alone. */
export function optionCases(method: MethodName): OptionCase[] {
  return optionFacts(estimatorNamed(method)).flatMap(facts =>
    placesOf(method, facts.name).flatMap((place, index) =>
      formsOf(method).flatMap(form => {
        const stream = randomStream(SEED, `${method}.${facts.name}`, index)
        return placeCases(method, facts, place, form, stream)
      }),
    ),
  )
}

function placeCases(
  method: MethodName,
  facts: OptionFacts,
  {beside = {}, values, silent, refused, masked = false, parameters}: Place,
  form: Form,
  stream: RandomStream,
): OptionCase[] {
  const call = (options: Record<string, unknown>) =>
    callOf(method, form, {
      options,
      masked,
      ...(parameters && {parameters: parameters(sizesOf(method, form))}),
    })
  const plain = call({...beside})
  const size = guardSize(plain)
  const drawn = values
    ? Array.from({length: NUMBERS}, () => values(stream))
    : facts.draw(stream, NUMBERS, size)
  return drawn.map(value => {
    const given = call({...beside, [facts.name]: value})
    const {name} = facts
    return {
      name: nameOf(given),
      option: name,
      form,
      given,
      plain,
      silent: silent?.[form],
      refused: refused?.[form],
    }
  })
}

/** The middle of the magnitudes of denominators, near which every guard changes some and not others. */
function guardSize(given: EstimatorCase): number {
  const {shape} = estimatorNamed(given.method).options
  const guards = ['denGuard', 'causalDenGuard'].filter(name => name in shape)
  if (guards.length === 0) return 1
  const idle = Object.fromEntries(guards.map(name => [name, 'add:0']))
  const {denominator} = twinOfCase({...given, options: {...given.options, ...idle}})
  const sizes = Array.from(denominator?.value ?? [1], Math.abs).sort((a, b) => a - b)
  return sizes[Math.floor(sizes.length / 2)]!
}

/** The options that every method takes, each alone: scale, numFeatures, and what decides the draw. */
export function commonCases(method: MethodName): OptionCase[] {
  return formsOf(method).flatMap(form => {
    const plain = commonCall(method, form)
    const useless = uselessCommon(plain)
    return Object.entries(changesOf(plain)).map(([option, change]) => {
      const given = {...plain, ...change}
      return {name: commonName(given), option, form, given, plain, silent: useless[option]}
    })
  })
}

/** All of them at once; signs of orthogonal rows go with rows that are orthogonal. */
export function commonSets(method: MethodName): {name: string; form: Form; given: EstimatorCase}[] {
  return formsOf(method).flatMap(form => {
    const plain = commonCall(method, form)
    const {scale, numFeatures, projection, orthSign} = changesOf(plain)
    const draw = {seed: 4, replicate: 2}
    return [projection, orthSign].map(last => {
      const given = {...plain, ...scale, ...numFeatures, draw: {...last!.draw, ...draw}}
      return {name: commonName(given), form, given}
    })
  })
}

function commonCall(method: MethodName, form: Form): EstimatorCase {
  const draw = {seed: 3, replicate: 0}
  return callOf(method, form, {options: COMMON_BESIDE[method] ?? {}, draw})
}

function changesOf({sizes, draw}: EstimatorCase): Record<string, Partial<EstimatorCase>> {
  return {
    scale: {scale: 0.23},
    numFeatures: {sizes: {...sizes, numFeatures: 3}},
    seed: {draw: {...draw!, seed: 4}},
    replicate: {draw: {...draw!, replicate: 2}},
    projection: {draw: {...draw!, projection: 'iid'}},
    orthSign: {draw: {...draw!, orthSign: 'raw'}},
  }
}

function commonName(given: EstimatorCase): string {
  return `${nameOf(given)} ${JSON.stringify(given.draw)}`
}

/** Common options that a call has no use for, with the reason. */
function uselessCommon(given: EstimatorCase): Partial<Record<string, string>> {
  const estimator = estimatorNamed(given.method)
  const resolved = optionsOf(given)
  const projects = usesProjection(estimator, resolved)
  const draws = projects || Object.keys(hostCase(given).noise).length > 0
  const undrawn = 'nothing is drawn by it'
  return {
    ...(estimator.inputs(resolved) === 'raw' && {scale: 'inputs are taken as they are'}),
    ...(!projects && {projection: undrawn, orthSign: undrawn}),
    ...(!draws && {seed: undrawn, replicate: undrawn}),
    ...(!projects && !estimator.sizedBy && {numFeatures: 'nothing is counted'}),
    ...COMMON_SILENT[given.method],
  }
}

/** All options drawn at once, with scale, number of features, mask and sharing of the projection. */
export function optionSets(method: MethodName): {name: string; form: Form; given: EstimatorCase}[] {
  return formsOf(method).flatMap(form =>
    Array.from({length: SETS}, (_, index) => {
      const stream = randomStream(SEED, `sets.${method}.${form}`, index)
      const sizes = sizesOf(method, form)
      const numFeatures = Math.max(4, sizes.numFeatures + Math.floor(3 * stream.uniform()) - 1)
      const options = drawSet(method, form, stream)
      const {keyMask} = estimatorNamed(method).supports
      const masked = keyMask && form === 'bidirectional' && stream.uniform() < 0.5
      const given = callOf(method, form, {
        sizes: {...sizes, numFeatures},
        options,
        masked,
        scale: Number((0.2 + 0.6 * stream.uniform()).toPrecision(3)),
        sharedProjection: stream.uniform() < 0.5,
      })
      return {name: nameOf(given), form, given}
    }),
  )
}

/** One value for each option, the default among them; of options that exclude each other the later ones. */
function drawSet(method: MethodName, form: Form, stream: RandomStream): Record<string, unknown> {
  const chosen: Record<string, unknown> = {}
  for (const facts of optionFacts(estimatorNamed(method))) {
    const places = placesOf(method, facts.name)
    const {values, refused} = places[Math.floor(places.length * stream.uniform())]!
    const drawn = values ? [values(stream)] : facts.draw(stream, 1, 1)
    const all = [facts.default, ...drawn]
    const value = all[Math.floor(all.length * stream.uniform())]
    if (!refused?.[form]) chosen[facts.name] = value
  }
  if (chosen.gridHeight && chosen.gridWidth) chosen.gridHeight = null // 16 tokens are 2 rows of 8
  return chosen
}

function nameOf(given: EstimatorCase): string {
  const {numFeatures} = given.sizes
  return `${caseName(given)} M=${numFeatures} ${JSON.stringify(given.options ?? {})}`
}

/** How far two twins are apart, in units of their bounds: the largest ratio. */
export function effect(a: TwinResult, b: TwinResult): number {
  let largest = 0
  a.out.value.forEach((x, at) => {
    const bound = a.out.error[at]! + b.out.error[at]!
    const change = Math.abs(x - b.out.value[at]!)
    if (bound < Infinity && change > 0) largest = Math.max(largest, change / bound)
  })
  return largest
}
