module.exports = require('./tools.cjs').config('2.0.0');
