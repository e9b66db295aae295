/* SPDX-License-Identifier: BSD-3-Clause */
#include "net/s3_answer.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "net/iso_time.h"
#include "net/percent.h"
#include "net/secret.h"

/* Enter the outermost element. */
void s3_answer_begin(struct s3_answer *answer, const char *text, size_t len)
{
    answer->no_memory = false;
    xml_begin(&answer->xml, text, len);
    xml_next(&answer->xml);
}

int s3_answer_end(struct s3_answer *answer, struct fault *fault)
{
    if (answer->no_memory)
        return -ENOMEM;
    return xml_end(&answer->xml, fault);
}

void s3_answer_expect(struct s3_answer *answer, const char *name)
{
    if (!xml_is(&answer->xml, name))
        xml_fail(&answer->xml, "XML is not the answer to this request");
}

/* Read the text of an element.  Returns NULL after a failure. */
char *s3_answer_text(struct s3_answer *answer)
{
    struct secret text = { 0 };
    char *taken;

    xml_read(&answer->xml, &text);
    taken = secret_take(&text);
    if (!taken)
        answer->no_memory = true;
    return taken;
}

/* Replace a text that an earlier element of the same name may have left. */
void s3_answer_into(struct s3_answer *answer, char **out)
{
    free(*out);
    *out = s3_answer_text(answer);
}

void s3_answer_time(struct s3_answer *answer, time_t *out)
{
    char *text = s3_answer_text(answer);

    if (text && !iso_time_parse(text, out))
        *out = 0;
    free(text);
}

bool s3_answer_bool(struct s3_answer *answer)
{
    char *text = s3_answer_text(answer);
    bool yes = text && strcmp(text, "true") == 0;

    if (text && !yes && strcmp(text, "false") != 0)
        xml_fail(&answer->xml, "value in XML is not true or false");
    free(text);
    return yes;
}

/* Make room for one more element, of zeros.  There is always room for a power
   of two of them. */
void *s3_answer_grow(struct s3_answer *answer, void *array, size_t n,
                     size_t size)
{
    char *grown = array;

    if ((n & (n - 1)) == 0)
        grown = reallocarray(array, n > 0 ? 2 * n : 1, size);
    if (!grown) {
        answer->no_memory = true;
        xml_fail(&answer->xml, "");
        return array;
    }
    memset(grown + n * size, 0, size);
    return grown;
}

/* Decode a key.  Servers that encode them write a blank as '+'. */
void s3_answer_decode(struct s3_answer *answer, char **key)
{
    struct secret text = { 0 };
    char *c = *key;

    while ((c = strchr(c, '+')))
        *c = ' ';
    percent_decode(*key, strlen(*key), &text);
    if (text.text && memchr(text.text, '\0', text.len))
        text.text[0] = '\0';
    free(*key);
    *key = secret_take(&text);
    if (!*key)
        answer->no_memory = true;
}

void s3_answer_encoding(struct s3_answer *answer, struct s3_list_flags *flags)
{
    char *text = s3_answer_text(answer);

    flags->encoded = text && strcmp(text, "url") == 0;
    free(text);
}

void s3_answer_cut(struct s3_answer *answer, char *out, size_t size)
{
    char *text = s3_answer_text(answer);

    out[0] = '\0';
    if (text)
        strncat(out, text, size - 1);
    free(text);
}
