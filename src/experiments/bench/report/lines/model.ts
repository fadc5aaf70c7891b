/** What is said of a whole model: which it is, and how much of its time is attention. */

import {isTold} from '../../../../answers/index.js'
import {modelName} from '../../../../model/hub.js'
import {ratioWithInterval, significant} from '../../../../report/numbers.js'
import {type Estimate, mapped} from '../../../../stats/index.js'
import {layersText} from '../../../layers-text.js'
import type {TimedRecord} from '../../schema.js'

/** `MiniLM (bert) with attention exchanged in all 6 layers`; `undefined`: there is no model. */
export function modelText({cell, result}: TimedRecord): string | undefined {
  const {model, layers = []} = cell
  if (!model) return undefined
  const {model_kind = '', model_layers = 0} = result
  return `${modelName(model.folder)} (${model_kind}) with attention exchanged in ${layersText(layers, model_layers)}`
}

/**
 * Share of attention in the time of a model.
 *
 * @param bound - time of the exact model over that without attention, at least 1 but for noise
 */
export function attentionShare(bound: Estimate): Estimate {
  return mapped(bound, gain => Math.max(0, 1 - 1 / gain))
}

/**
 * How much of its time a model spends on attention of exchanged layers, and what there is to gain.
 *
 * @param bound - as of {@link attentionShare}
 * @param row - the model without attention
 */
export function shareSentence(bound: Estimate, {cell, result}: TimedRecord): string {
  const {layers = [], seq_len} = cell
  const all = layers.length === result.model_layers
  const what = all ? 'Attention' : `Attention of ${layersText(layers, result.model_layers ?? 0)}`
  if (!isTold(bound)) {
    return 'The machine was too busy to tell how much of the time is attention.'
  }
  const share = attentionShare(bound)
  const percent = (x: number) => significant(100 * x, 2)
  const interval = Number.isNaN(share.low) ? '' : ` [${percent(share.low)}, ${percent(share.high)}]`
  return `${what} is ${percent(share.value)} %${interval} of the time of the exact model at L=${seq_len}: no method can gain more than ${ratioWithInterval(mapped(bound, gain => Math.max(1, gain)))}.`
}
