/** Claims about trained models, which nothing here can decide: what the papers say, and what it would take. */
import type {QuotedClaim} from '../claim.js'

type Quotation = Omit<QuotedClaim, 'kind' | 'id'>

const QUOTATIONS = {
  H23: {
    sentence: 'RA and LARA keep nearly the quality of softmax attention, where RFA loses much',
    source: "Zheng et al. 2022, arXiv:2204.04667, and the authors' summary of it",
    paper:
      'ImageNet / SSv2 / WMT / LRA: softmax 79.9 / 66.5 / 27.5 / 59.08, RA 80.0 / 64.9 / 27.8 / 59.30, RFA 74.3 / 53.1 / 23.7 / 57.63, LARA 79.5 / 63.7 / 27.0 / 59.12',
    needs:
      'models of vision, video, translation and long sequences trained with each of them: LARA has no causal form that rfa train could train. What the tables call RFA is positive features with M = 64 (favorp, --approx-attn-dim 64, in the scripts of the authors), not the sines and cosines of Peng et al. 2021',
  },
} as const satisfies Record<string, Quotation>

export function quoted(id: keyof typeof QUOTATIONS): QuotedClaim {
  return {kind: 'quoted', id, ...QUOTATIONS[id]}
}
