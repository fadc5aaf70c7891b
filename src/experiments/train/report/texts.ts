/** Tasks and scores in words. */
import {plural, significant} from '../../../report/numbers.js'
import type {TrainTask} from '../schema.js'
import {measureOf} from './rows.js'

/** A task in a few words. */
export function taskText(task: TrainTask): string {
  return tasksText([task])
}

/** Tasks of one name in a few words. */
export function tasksText(tasks: readonly TrainTask[]): string {
  const [task] = tasks as [TrainTask, ...TrainTask[]]
  switch (task.name) {
    case 'mqar': {
      const pairs = tasks.flatMap(one => (one.name === 'mqar' ? [one.pairs] : []))
      const counted = pairs.length > 1 ? `${pairs.join(', ')} pairs` : plural(task.pairs, 'pair')
      return `recall (mqar), ${task.length} tokens, ${counted}, V=${task.vocabulary}`
    }
    case 'copy':
      return `selective copying, ${task.data} of ${task.length} tokens, V=${task.vocabulary}`
    case 'listops':
      return `ListOps, ${task.shortest + 1} to ${task.length - 1} tokens`
    case 'chars':
      return `characters, ${task.length} at a time`
  }
}

/** What tasks of a plan differ by. */
export function shortTask(task: TrainTask): string {
  return task.name === 'mqar' ? plural(task.pairs, 'pair') : task.name
}

/** `97.1 %`, or bits as they are. */
export function scoreText(task: TrainTask, score: number): string {
  if (!Number.isFinite(score)) return 'diverged'
  return measureOf(task).rises ? `${significant(100 * score)} %` : significant(score)
}
