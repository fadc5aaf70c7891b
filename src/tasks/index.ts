import {z} from 'zod'
import chars from './characters.js'
import listops from './list-ops.js'
import mqar from './mqar.js'
import copy from './selective-copy.js'

export type {TaskDefaults, TaskRequest, TaskSettings} from './kind.js'
export {type Examples, NO_LABEL, type Task} from './task.js'

/** The tasks by their names, in the order of help; each has its file. */
export const TASKS = {mqar, copy, listops, chars} as const
export type TaskName = keyof typeof TASKS
export const TASK_NAMES = Object.keys(TASKS) as readonly TaskName[]

const [first, ...others] = Object.values(TASKS).map(({schema}) => schema)

/** Tasks, with everything that determines them save the seed. */
export const trainTask = z
  .discriminatedUnion('name', [first!, ...others])
  .describe('What is learned.')
export type TrainTask = z.infer<typeof trainTask>
