/** Tasks and scores in words. */
import {significant} from '../../../report/numbers.js'
import {TASKS, type TrainTask} from '../../../tasks/index.js'
import {measureOf} from './rows.js'

export function taskText(task: TrainTask): string {
  return tasksText([task])
}

/** Tasks of one name in a few words. */
export function tasksText(tasks: readonly TrainTask[]): string {
  const {name} = tasks[0]!
  return TASKS[name].title(tasks.filter(task => task.name === name))
}

/** What tasks of a plan differ by. */
export function shortTask(task: TrainTask): string {
  return TASKS[task.name].short(task)
}

/** `97.1 %`, or bits as they are. */
export function scoreText(task: TrainTask, score: number): string {
  if (!Number.isFinite(score)) return 'diverged'
  return measureOf(task).rises ? `${significant(100 * score)} %` : significant(score)
}
