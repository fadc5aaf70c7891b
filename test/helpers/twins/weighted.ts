/** Attention with explicit features in double precision, quadratic, with bounds. */
import {type Bounded, bounded, ELEMENTARY, gamma, HUGE, maxAbs, TINY, U} from '../rounding.js'
import {emptyOutput, forEachHead, type Head, type Twin, type TwinInputs} from './types.js'

/** Features of all rows of one side of one head. */
export interface Features extends Bounded {
  /** F */
  count: number
}

/** Features of both sides, and what is done with them. */
export interface FeaturePair {
  query: Features
  key: Features
  /** Log of each key's weight, `[S]`. */
  keyLogWeight?: Bounded
  /** Log of each token's forget gate, `[S]`. */
  logGate?: Bounded
}

/** Builds the features of one head. */
export type FeatureBuilder = (head: Head, inputs: TwinInputs) => FeaturePair

/** Empty features of `length` rows. */
export function features(length: number, count: number): Features {
  return {...bounded(length * count), count}
}

/** A twin from features: weights, guard, ratio. The guard is read from the options. */
export function explicitTwin(build: FeatureBuilder): Twin {
  const twin: Twin = inputs => {
    const {options, causal} = inputs
    const guard = String((causal ? options.causalDenGuard : null) ?? options.denGuard ?? 'none')
    const normalizerEpsilon = causal ? Number(options.normalizerEpsilon ?? 0) : 0
    const out = emptyOutput(inputs)
    const [batch, heads, queryLen] = inputs.query.shape
    const denominator = bounded(batch * heads * queryLen)
    forEachHead(inputs, head => {
      const pair = build(head, inputs)
      for (let i = 0; i < head.queryLen; i++) {
        const sums = rowSums(head, pair, i, inputs.initialState)
        addNormalizerEpsilon(sums, pair.query, i, normalizerEpsilon)
        const row = head.index * head.queryLen + i
        denominator.value[row] = sums.denominator
        denominator.error[row] = sums.denominatorError
        divide(sums, guard, out, row * head.valueDim)
      }
    })
    return {out, denominator}
  }
  return Object.assign(twin, {build})
}

interface RowSums {
  numerator: Float64Array // [Dv]
  numeratorError: Float64Array
  denominator: number
  denominatorError: number
}

/**
 * Numerator and denominator of one row. Each weight is a sum over F features inside a sum over S
 * keys, in either order: (F + S) u of the summed magnitudes. Key weights given by logarithms, and gates,
 * add the relative error of {@link keyFactors}.
 */
function rowSums(
  head: Head,
  pair: FeaturePair,
  row: number,
  initialState: TwinInputs['initialState'],
): RowSums {
  const {keyLen, valueDim, value} = head
  const {query, key} = pair
  const count = query.count
  const sums: RowSums = {
    numerator: new Float64Array(valueDim),
    numeratorError: new Float64Array(valueDim),
    denominator: 0,
    denominatorError: 0,
  }
  const factors = keyFactors(head, pair, row)
  const terms = count + keyLen + 8
  for (let j = 0; j < keyLen; j++) {
    if (!head.sees(row, j)) continue
    const weighted = weight(query, row, key, j, terms)
    if (factors) {
      const {factor, relative} = factors(j)
      weighted.error =
        factor * (weighted.error * (1 + relative) + relative * weighted.magnitude) + TINY
      weighted.value *= factor
      weighted.magnitude *= factor
    }
    addKey(sums, weighted, value.subarray(j * valueDim, (j + 1) * valueDim))
  }
  if (initialState) addState(sums, query, row, head, initialState, terms)
  return sums
}

/** Longest chunk of the causal forms: logarithms of gates are summed inside it, exponentials multiplied across. */
const CHUNK = 64

/**
 * What key weights and gates multiply the weight of key j at one row by: `exp(c_j + g_{j+1} + .. + g_row)`,
 * with key weights divided by the largest factor of a visible key.
 *
 * Its relative error: the errors of c and of the gates; for the exponent 2 u of its range and, with gates,
 * two sums of up to a chunk's logarithms where the chunk is read and one where it is carried on (3 x 64 + 7
 * roundings of at most their total), or one after another with a maximum of the c (3 u of it per key); one
 * rescaling of the running sums per key: an exp, differences and products.
 *
 * @returns `undefined` where all factors are 1
 */
export function keyFactors(
  head: Head,
  {keyLogWeight, logGate}: FeaturePair,
  row: number,
): ((j: number) => {factor: number; relative: number}) | undefined {
  if (!keyLogWeight && !logGate) return undefined
  const last = Math.min(row, head.keyLen - 1)
  const gates = sumsAfter(logGate?.value, last)
  const gateErrors = sumsAfter(logGate?.error, last)
  const exponents = Float64Array.from(
    {length: head.keyLen},
    (_, j) => (keyLogWeight?.value[j] ?? 0) + (gates[j] ?? 0),
  )
  const visible = exponents.filter((_, j) => head.sees(row, j))
  const top = keyLogWeight ? Math.max(...visible) : 0
  const weights = (keyLogWeight?.value ?? []).filter((_, j) => head.sees(row, j))
  const steps = logGate
    ? (3 * CHUNK + 7) * Math.abs(gates[0]! + logGate.value[0]!) + 3 * head.keyLen * maxAbs(weights)
    : 0
  const rounding = U * (2 * (Math.max(...visible) - Math.min(...visible)) + steps)
  const rescaled = gamma(head.keyLen * (ELEMENTARY + (logGate ? 4 : 2)))
  return j => {
    const own = (keyLogWeight?.error[j] ?? 0) + (gateErrors[j] ?? 0)
    return {factor: Math.exp(exponents[j]! - top), relative: Math.expm1(own + rounding) + rescaled}
  }
}

interface Weight {
  value: number
  magnitude: number
  error: number
}

/** phi(q_row).phi(k_column), the sum of its magnitudes and the bound on its error. */
function weight(
  {count, value: a, error: da}: Features,
  row: number,
  {value: b, error: db}: Features,
  column: number,
  terms: number,
): Weight {
  let sum = 0
  let magnitude = 0
  let error = 0
  let largest = 0
  for (let s = 0; s < count; s++) {
    const x = a[row * count + s]!
    const y = b[column * count + s]!
    const size = Math.abs(x)
    const product = x * y
    sum += product
    magnitude += Math.abs(product)
    error += size * db[column * count + s]! + da[row * count + s]! * Math.abs(y)
    if (size > largest) largest = size
  }
  if (magnitude === 0 && error === 0) return {value: 0, magnitude, error}
  const second = gamma(terms) * magnitude // also covers the products of two errors
  return {value: sum, magnitude, error: error * (1 + U) + second + TINY * count * (1 + largest)}
}

function addKey(sums: RowSums, {value, error}: Weight, row: Float64Array): void {
  sums.denominator += value
  sums.denominatorError += error
  for (let d = 0; d < row.length; d++) {
    sums.numerator[d]! += value * row[d]!
    sums.numeratorError[d]! += error * Math.abs(row[d]!) + (error > 0 ? TINY : 0)
  }
}

/** Sums carried in count like one more key per feature, with the state in place of phi(k) v. */
function addState(
  sums: RowSums,
  query: Features,
  row: number,
  {index, valueDim}: Head,
  {state, normalizer}: NonNullable<TwinInputs['initialState']>,
  terms: number,
): void {
  const {count} = query
  for (let s = 0; s < count; s++) {
    const a = query.value[row * count + s]!
    const relative = query.error[row * count + s]! + gamma(terms) * Math.abs(a)
    const z = normalizer[index * count + s]!
    sums.denominator += a * z
    sums.denominatorError += relative * Math.abs(z)
    for (let d = 0; d < valueDim; d++) {
      const entry = state[(index * count + s) * valueDim + d]!
      sums.numerator[d]! += a * entry
      sums.numeratorError[d]! += relative * Math.abs(entry)
    }
  }
}

function addNormalizerEpsilon(sums: RowSums, query: Features, row: number, epsilon: number): void {
  for (let s = 0; s < query.count; s++) {
    const a = query.value[row * query.count + s]!
    sums.denominator += epsilon * a
    sums.denominatorError +=
      epsilon * (query.error[row * query.count + s]! + gamma(query.count + 3) * Math.abs(a))
  }
  sums.denominatorError += U * Math.abs(sums.denominator)
}

/** The guarded denominator and the bound on its error; every guard is 1-Lipschitz but `nudge`. */
function guarded(denominator: number, error: number, guard: string): {safe: number; error: number} {
  const [policy, text] = guard.split(':')
  const bound = Number(text)
  switch (policy) {
    case 'add': {
      const safe = denominator + bound
      return {safe, error: error + U * (Math.abs(safe) + bound)}
    }
    case 'clamp':
      return raised(denominator, error, bound)
    case 'abs-clamp':
      return raised(Math.abs(denominator), error, bound)
    case 'nudge': {
      const distance = Math.abs(Math.abs(denominator) - bound)
      const small = Math.abs(denominator) <= bound
      const safe = small ? denominator + 2 * bound : denominator
      return {safe, error: distance <= error ? Infinity : error + 2 * U * Math.abs(safe)}
    }
    default:
      return {safe: denominator, error}
  }
}

/** max(x, bound): a value surely below the bound has no error left but that of the bound itself. */
function raised(x: number, error: number, bound: number): {safe: number; error: number} {
  return {safe: Math.max(x, bound), error: U * bound + (x + error <= bound ? 0 : error)}
}

/** The quotient: (error of the numerator + |quotient| error of the denominator) / least denominator. */
function divide(sums: RowSums, guard: string, out: Bounded, at: number): void {
  const {safe, error} = guarded(sums.denominator, sums.denominatorError, guard)
  const least = Math.abs(safe) - error
  sums.numerator.forEach((numerator, d) => {
    const quotient = safe === 0 ? 0 : numerator / safe
    const numeratorError = sums.numeratorError[d]!
    out.value[at + d] = quotient
    if (numeratorError === 0 && numerator === 0 && error === 0) return // sees no key: exactly zero
    const decided = least > 0 && least < HUGE && Math.abs(numerator) + numeratorError < HUGE
    out.error[at + d] = decided
      ? (numeratorError + Math.abs(quotient) * error) / least + 3 * U * Math.abs(quotient) + TINY
      : Infinity
  })
}

/** Sums of the entries after j up to `last`, for each j up to there. */
function sumsAfter(entries: Float64Array | undefined, last: number): Float64Array {
  const sums = new Float64Array(last + 1)
  for (let j = last - 1; j >= 0; j--) sums[j] = sums[j + 1]! + (entries?.[j + 1] ?? 0)
  return sums
}
