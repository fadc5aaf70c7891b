import type {QuotedClaim} from './claim.js'

export default {
  kind: 'quoted',
  id: 'H17',
  sentence: 'Features must be drawn anew during training',
  source: 'Choromanski et al. 2021, arXiv:2009.14794',
  paper: 'runs of training; the sources at hand quote no number',
  needs:
    'models trained with and without redrawing; the spread over draws of a fixed input, which is why it matters, is in every error sweep',
} satisfies QuotedClaim
