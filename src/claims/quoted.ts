/** Claims about trained models, which nothing here can decide: what the papers say, and what it would take. */
import type {QuotedClaim} from './claim.js'

type Quotation = Omit<QuotedClaim, 'kind' | 'id'>

const QUOTATIONS = {
  H9: {
    sentence:
      'RFA, and more so with its gate, matches or improves the perplexity of softmax models',
    source: 'Peng et al. 2021, arXiv:2103.02143',
    paper:
      'WikiText-103, big model: perplexity 25.0 with the gate, 26.2 of the baseline (quoted from summaries)',
    needs: 'language models trained from scratch with each kind of attention',
  },
  H17: {
    sentence: 'Features must be drawn anew during training',
    source: 'Choromanski et al. 2021, arXiv:2009.14794',
    paper: 'runs of training; the sources at hand quote no number',
    needs:
      'models trained with and without redrawing; every error sweep shows the spread over draws for a fixed input, which is why it matters',
  },
  H23: {
    sentence: 'RA and LARA keep nearly the quality of softmax attention, where RFA loses much',
    source: "Zheng et al. 2022, arXiv:2204.04667, and the authors' summary of it",
    paper:
      'ImageNet / SSv2 / WMT / LRA: softmax 79.9 / 66.5 / 27.5 / 59.08, RA 80.0 / 64.9 / 27.8 / 59.30, RFA 74.3 / 53.1 / 23.7 / 57.63, LARA 79.5 / 63.7 / 27.0 / 59.12',
    needs: 'models of vision, video, translation and long sequences trained with each of them',
  },
} as const satisfies Record<string, Quotation>

/** The claim of an id. */
export function quoted(id: keyof typeof QUOTATIONS): QuotedClaim {
  return {kind: 'quoted', id, ...QUOTATIONS[id]}
}
