import type {QuotedClaim} from './claim.js'

export default {
  kind: 'quoted',
  id: 'H9',
  sentence: 'RFA, and more so with its gate, matches or improves the perplexity of softmax models',
  source: 'Peng et al. 2021, arXiv:2103.02143',
  paper:
    'WikiText-103, big model: perplexity 25.0 with the gate, 26.2 of the baseline (quoted from summaries)',
  needs: 'language models trained from scratch with each kind of attention',
} satisfies QuotedClaim
