import type {TestedClaim} from '../claim.js'
import {FEATURES, learnedModel, packagedTexts, STEPS} from '../evidence/learned-model.js'

export default {
  id: 'H34',
  sentence: 'Features that were learned on some texts work on texts of another kind',
  source: 'Zhang et al. 2024, arXiv:2402.04347, section 4',
  paper:
    'feature maps that mimic the attention of a pretrained model on one data set stay close to it on another data set and at other lengths',
  ours: `the packaged character model, which was trained on Bible verses, favor-pos orth M = ${FEATURES} in all of its 4 layers; maps and random vectors are learned on verses (rfa tune, ${STEPS}), and the model is judged on sentences of the documentation of rfa (fixtures/prose.txt)`,
  statistic:
    'nats per token lost on the prose with learned parameters over nats per token lost on it without, same draws and texts, by Student t along draws and groups of texts',
  ...learnedModel({
    id: 'h34',
    texts: {quick: 40, full: 80},
    async textsOf(count) {
      const [verses, prose] = [
        await packagedTexts('charlm/texts.txt'),
        await packagedTexts('prose.txt'),
      ]
      return {learned: verses.slice(0, count), judged: prose.slice(0, count)}
    },
    where: 'prose, after learning on verses',
    explanation:
      'What is learned says where queries and keys of a layer lie and how large its logits are. If that belongs to the weights of the layer, texts of another kind change it little; if it belongs to the texts, learning on one kind does not help on the other.',
  }),
} satisfies TestedClaim
