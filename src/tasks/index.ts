export {characters} from './characters.js'
export {type MqarOptions, mqar} from './mqar.js'
export {type SelectiveCopyOptions, selectiveCopy} from './selective-copy.js'
export {type Examples, NO_LABEL, type Task, type TaskPart} from './task.js'
