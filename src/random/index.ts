export {chis} from './chi.js'
export {philox4x32} from './philox.js'
export {normals, type RandomStream, randomStream, streamKey} from './stream.js'
