import {expected} from '../../../errors.js'
import {readTexts} from '../../../inputs/texts.js'
import {TASKS, type Task, type TaskSettings, type TrainTask} from '../../../tasks/index.js'

/**
 * A task with the texts that it needs.
 *
 * @throws {BAD_OPTION} for sizes that do not go together
 * @throws {FILE_CHANGED} where the texts are others than when the plan was made
 */
export async function openTask(task: TrainTask, seed: number): Promise<Task> {
  const text = 'texts' in task ? await textOf(task.texts) : ''
  return TASKS[task.name].make(task, seed, text)
}

async function textOf({path, digest: planned}: TaskSettings['texts']): Promise<string> {
  const {texts, digest} = await readTexts(path)
  if (digest === planned) return texts.join('\n')
  const remedy = 'start another run with the texts as they are'
  throw expected('FILE_CHANGED', path, 'the texts of the plan', 'others', remedy)
}
