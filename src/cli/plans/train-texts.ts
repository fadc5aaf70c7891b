/** Texts that a model of characters is trained on, looked at while its plan is made. */
import {packagedFile} from '../../inputs/packaged.js'
import {readTexts} from '../../inputs/texts.js'
import type {TrainFlags, TrainTexts} from './train.js'

/** Texts that are used where none are named, in the folder of packaged files. */
const PACKAGED_TEXTS = 'charlm/texts.txt'

export async function trainTexts({texts}: Pick<TrainFlags, 'texts'>): Promise<TrainTexts> {
  const path = texts ?? packagedFile(PACKAGED_TEXTS)
  const {digest} = await readTexts(path)
  return {path, digest}
}
