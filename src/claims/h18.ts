import type {QuotedClaim} from './claim.js'

export default {
  kind: 'quoted',
  id: 'H18',
  sentence: 'The error of an approximate layer grows through the layers above it',
  source: 'Choromanski et al. 2021, arXiv:2009.14794, appendix D.1',
  paper: 'the error against depth; the sources at hand quote no number',
  needs:
    'all weights of a pretrained model: the growth is that of its projections, norms and feed-forward parts, of which files of queries, keys and values have nothing',
} satisfies QuotedClaim
