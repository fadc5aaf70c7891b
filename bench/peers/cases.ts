/** What is compared with the peers: methods, shapes and the work of each. */
import {type Estimator, loadEstimators, type MethodName} from '../../src/index.js'

/** Methods that some peer has too. */
export type PeerMethod = 'softmax' | 'favor-pos' | 'rfa' | 'elu' | 'efficient'

/** 8 heads of D = Dv = 64, batch 1. */
export const SHAPE = {heads: 8, headDim: 64} as const
/** M of FAVOR+: F = 256. Sin/cos features take half of the rows, to the same F. */
export const NUM_FEATURES = 256

/** What all cases have; peers are sent the whole case. */
interface SharedCase {
  method: PeerMethod
  heads: number
  headDim: number
  causal: boolean
  /** Of a pass, or of one token, as the estimator counts it: a multiply-add is two. */
  flops: number
}

/** A pass over a whole sequence. */
export interface PassCase extends SharedCase {
  kind: 'attention'
  /** L of queries and keys */
  length: number
}

/** `tokens` tokens, one at a time, behind `position` others. */
export interface DecodeCase extends SharedCase {
  kind: 'decode'
  position: number
  tokens: number
}

export type PeerCase = PassCase | DecodeCase

/** What to compare, smaller for a quick look. */
export interface Axes {
  /** L of all methods but those with lengths of their own. */
  lengths: readonly number[]
  /** Further L of linear methods. */
  longer: readonly number[]
  /** Tokens that a decoder has seen at the end. */
  seen: readonly number[]
}

export const FULL: Axes = {lengths: [512, 2048, 8192], longer: [16384], seen: [512, 4096]}
export const QUICK: Axes = {lengths: [512], longer: [], seen: [512]}

const METHODS: readonly PeerMethod[] = ['softmax', 'favor-pos', 'rfa', 'elu', 'efficient']
const DECODED: readonly PeerMethod[] = ['softmax', 'favor-pos', 'rfa', 'elu']
/** Tokens of one timed run. */
const TOKENS = 32

/** Whether a method is timed at a length. */
function isTimed(method: PeerMethod, length: number, {longer}: Axes): boolean {
  if (longer.includes(length)) return method === 'favor-pos' || method === 'elu'
  // its causal form at its peer holds a D x D matrix per token
  return method !== 'efficient' || length <= 2048
}

/** All cases in the order of the tables. */
export async function peerCases(axes: Axes): Promise<PeerCase[]> {
  const estimators = await loadEstimators()
  const flops = (method: PeerMethod, sizes: Sizes) => work(estimators[ownMethod(method)], sizes)
  const passes = METHODS.flatMap(method =>
    [false, true].flatMap(causal =>
      [...axes.lengths, ...axes.longer]
        .filter(length => isTimed(method, length, axes))
        .map((length): PassCase => {
          const sizes = {method, queryLen: length, keyLen: length, causal}
          const shared = {method, ...SHAPE, causal, flops: flops(method, sizes)}
          return {kind: 'attention', ...shared, length}
        }),
    ),
  )
  const decoders = DECODED.flatMap(method =>
    axes.seen.map((seen): DecodeCase => {
      const position = seen - TOKENS
      // a token of a linear method meets its state alone
      const keyLen = method === 'softmax' ? position + TOKENS / 2 : 1
      const count = flops(method, {method, queryLen: 1, keyLen, causal: false})
      const shared = {method, ...SHAPE, causal: true, flops: count}
      return {kind: 'decode', ...shared, position, tokens: TOKENS}
    }),
  )
  return [...passes, ...decoders]
}

/** The method of this package that computes it. */
export function ownMethod(method: PeerMethod): MethodName {
  return method === 'softmax' ? 'softmax-online' : method
}

/** M of a method: rows of the projection, of which sin/cos features take the first half. */
export function rowsOf(method: PeerMethod): number {
  return method === 'rfa' ? NUM_FEATURES / 2 : NUM_FEATURES
}

/** Tokens of the arrays that a case reads. */
export function tokensOf(given: PeerCase): number {
  return given.kind === 'attention' ? given.length : given.position + given.tokens
}

interface Sizes {
  method: PeerMethod
  queryLen: number
  keyLen: number
  causal: boolean
}

function work(estimator: Estimator, {method, ...lengths}: Sizes): number {
  const {heads, headDim} = SHAPE
  const shape = {batch: 1, heads, ...lengths, headDim, valueDim: headDim}
  const options = estimator.options.parse({})
  return estimator.cost({...shape, numFeatures: rowsOf(method)}, options).flops
}
