/** A model that is measured against another one: the same layers with other weights. */
import {expected, type RfaError} from '../../errors.js'
import type {ModelFacts, TokenBatch} from '../../model/index.js'

type Shape = Pick<ModelFacts, 'layers' | 'width' | 'vocabulary' | 'causal'>

/** Checks that hidden states and predictions of two models can be compared. @throws {SHAPE_MISMATCH} */
export function assertSameShape(model: Shape, original: Shape): void {
  const [wanted, got] = [shapeText(model), shapeText(original)]
  if (wanted !== got) throw mismatch(`${wanted}, as the exchanged model`, got)
}

function shapeText({layers, width, vocabulary, causal}: Shape): string {
  const kind = causal ? 'a causal model' : 'an encoder'
  return `${kind} with ${layers} layers, hidden states of ${width} and ${vocabulary} tokens`
}

/** Checks that both read the same tokens of the same texts. @throws {SHAPE_MISMATCH} */
export function assertSameTokens(
  model: readonly Pick<TokenBatch, 'ids'>[],
  original: readonly Pick<TokenBatch, 'ids'>[],
): void {
  const same =
    model.length === original.length &&
    model.every(({ids}, batch) => `${ids}` === `${original[batch]!.ids}`)
  if (!same) throw mismatch('the tokens that the exchanged model reads', 'others of the same texts')
}

function mismatch(what: string, got: string): RfaError {
  const remedy = 'give the model that its weights were learned from'
  return expected('SHAPE_MISMATCH', 'the original', what, got, remedy)
}
