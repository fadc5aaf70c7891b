/** The task of a cell. */
import {expected} from '../../../errors.js'
import {readTexts} from '../../../inputs/texts.js'
import {characters, listOps, mqar, selectiveCopy, type Task} from '../../../tasks/index.js'
import type {TrainTask} from '../schema.js'

/**
 * A task with the texts that it needs.
 *
 * @throws {BAD_OPTION} for sizes that do not go together
 * @throws {FILE_CHANGED} where the texts are others than when the plan was made
 */
export async function openTask(task: TrainTask, seed: number): Promise<Task> {
  switch (task.name) {
    case 'mqar':
      return mqar(task, seed)
    case 'copy':
      return selectiveCopy(task, seed)
    case 'listops':
      return listOps(task, seed)
    case 'chars': {
      const {texts, digest} = await readTexts(task.texts.path)
      if (digest !== task.texts.digest) {
        const remedy = 'start another run with the texts as they are'
        throw expected('FILE_CHANGED', task.texts.path, 'the texts of the plan', 'others', remedy)
      }
      return characters({text: texts.join('\n'), length: task.length}, seed)
    }
  }
}
