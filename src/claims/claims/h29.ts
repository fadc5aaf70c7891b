import type {TestedClaim} from '../claim.js'
import {FEATURES, learnedModel, packagedTexts, STEPS} from '../evidence/learned-model.js'

export default {
  id: 'H29',
  sentence: 'Already trained models work with positive features after a little fine-tuning',
  source: 'Choromanski et al. 2021, arXiv:2009.14794, section 4.3',
  paper:
    'a Transformer trained on proteins or LM1B starts low when its attention is exchanged for Performer attention, and recovers its accuracy in a fraction of the original number of steps',
  ours: `the packaged character model of 4 layers, and in a full run all-MiniLM-L6-v2 of 6 where it is installed, favor-pos orth M = ${FEATURES} in all of them; in place of all weights, maps of queries and keys and the random vectors are learned, layer by layer (rfa tune, ${STEPS}); each model is judged on other texts`,
  statistic:
    'loss (nats per token, or 1 - cosine of an encoder) with learned parameters over loss without, same draws and texts, by Student t along draws and groups of texts',
  ...learnedModel({
    id: 'h29',
    texts: {quick: 40, full: 100},
    onMinilm: true,
    async textsOf(count) {
      const all = await packagedTexts('charlm/texts.txt')
      return {learned: all.slice(0, count), judged: all.slice(-count)}
    },
    where: 'other texts',
    explanation:
      'Maps of queries and keys make logits smaller where random features cannot follow large ones, and learned vectors lie where queries and keys are. Each layer learns the outputs of exact attention by itself: no gradient passes through the model, and no weight of it changes. What later layers read differs from what they learned on, as the layers before them err.',
  }),
} satisfies TestedClaim
