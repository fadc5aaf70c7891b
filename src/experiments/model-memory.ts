import type {Model} from '../model/index.js'

/** Bytes of a number. */
const FLOAT = 4
/** Widths of a layer's input that it has in memory for each token at once, without attention and feed-forward part. */
const WIDTHS = 14

/** Most bytes that a layer has in memory for each token at once, without its weights and what its attention holds. */
export function layerBytesPerToken({
  facts,
  sizes,
}: Pick<Model, 'sizes'> & {facts: Pick<Model['facts'], 'width'>}): number {
  return FLOAT * (WIDTHS * facts.width + sizes.inner)
}
