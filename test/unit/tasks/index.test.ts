import {expect, it} from 'vitest'
import {packagedFile} from '../../../src/inputs/packaged.js'
import {TASK_NAMES, TASKS, trainTask} from '../../../src/tasks/index.js'

it.each(
  TASK_NAMES.flatMap(name => (['standard', 'quick'] as const).map(size => [name, size] as const)),
)('%s makes the task of its %s defaults, which records hold and tables name', (name, size) => {
  const kind = TASKS[name]
  const {length} = kind.defaults[size]
  const texts = {path: packagedFile('charlm/texts.txt'), digest: ''}
  const [options] = kind.plan({length, size, typed: {texts}})
  expect(trainTask.parse(options)).toEqual(options)
  expect(options!.name).toBe(name)
  const task = kind.make(options!, 0, 'a text of some characters. '.repeat(200))
  expect(task.length).toBe(length)
  expect(task.examples({part: 'test', count: 1, run: 0}).tokens).toHaveLength(length)
  expect(kind.title([options!])).toContain(String(name === 'listops' ? length - 1 : length))
  expect(kind.short(options!)).toMatch(name === 'mqar' ? /^\d pairs$/ : name)
})
