/** What runs a model: in numbers of single tokens and texts, which mean the same whatever engine they come from. */
import type {TokenBatch} from '../../../model/index.js'
import type {TunedFile} from '../../../tuned/index.js'
import type {SwapCell, SwapPart, SwapResult} from '../schema.js'
import type {Embeddings} from './neighbours.js'
import type {NextTokens} from './next-tokens.js'
import type {RelativeSquares} from './squares.js'

/** A batch, with squared lengths of hidden states of the original before the first layer and after each, `[B, L]`. */
export interface MeasuredBatch {
  tokens: Pick<TokenBatch, 'batch' | 'length' | 'lengths'>
  /** Which of the texts they are. */
  texts: readonly number[]
  squares: Float32Array[]
}

/** The original on all texts. */
export interface MeasuredTexts {
  batches: readonly MeasuredBatch[]
  /** How many texts, and their tokens. */
  texts: number
  tokens: number
  /** Texts with too few tokens. */
  leftOut: number
}

/** An original with what exchanges its attention. */
export interface Engine extends MeasuredTexts {
  facts: {
    kind: string
    layers: number
    heads: number
    headDim: number
    causal: boolean
    vocabulary: number
  }
  pooledBy: string | null
  /** What records say of it. */
  result: Pick<SwapResult, 'backend' | 'instruction_set' | 'threads' | 'processes' | 'engine'>
  /** The stated reason why it does not run a method, if it does not. */
  refuses(cell: SwapCell): string | undefined
  /** Embeddings of the texts by the original, an encoder. */
  embeddings(): Embeddings
  exchanged(run: Run): Promise<Exchanged>
}

/** Layers of a cell that are exchanged all at once. */
export interface Run {
  cell: SwapCell
  tuned: TunedFile | undefined
  /** Called after each layer of each batch of each draw. */
  onStep?: (() => void) | undefined
}

export interface Exchanged {
  /** Squared distances of the outputs of the last layer from the original's: draws, in each the batches, `[B L]`. */
  distances: Float32Array[][]
  /** Errors of the output of every layer; `undefined`: it is that of the original. */
  hidden: (RelativeSquares | undefined)[]
  /** Errors of attention in the first exchanged layer. */
  attention: Readonly<Record<keyof SwapPart['attention_errors'], RelativeSquares>>
  /** Of a causal model: draws, in each the texts. */
  predictions?: NextTokens[][]
  /** Of an encoder: draws. */
  embeddings?: Embeddings[]
  /** Of one that predicts classes: draws, in each the texts: 1 where the class is that of the original, else 0. */
  sameClass?: number[][]
}

/** Called after each layer of each batch that the original runs. @param passes - how many there are in all */
export type OnPass = (passes: number) => void
