/// Property: text of other programs is fit for where it is shown, whatever bytes it has. Method: each kind of byte.
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <string>

#include "common/text.hpp"

namespace {

using namespace homing::cli;

TEST(text, is_utf8_without_control_characters) {
  EXPECT_EQ(printable("plain, \xC3\xA4 and \xE2\x82\xAC"), "plain, \xC3\xA4 and \xE2\x82\xAC");
  EXPECT_EQ(printable("\xFF"
                      "a\xC3"),
            "\xEF\xBF\xBD"
            "a\xEF\xBF\xBD");
  EXPECT_EQ(printable("\x1B[31m\r\n\t\x7F"), "?[31m????");
  EXPECT_EQ(printable("\xC2\x9B\xC2\x80\xC2\xA0"), "??\xC2\xA0") << "terminals obey U+009B as well";
  EXPECT_EQ(printable(std::string("\0x", 2)), "?x");
  EXPECT_EQ(printable(""), "");
}

TEST(text, is_quoted_for_csv_and_escaped_for_xml) {
  EXPECT_EQ(quoted("a \"b\",\n\xFF"), "\"a \"\"b\"\",?\xEF\xBF\xBD\"");
  EXPECT_EQ(xml_text("<a & \"b\">\x01\xFF"), "&lt;a &amp; &quot;b&quot;&gt;?\xEF\xBF\xBD");
}

TEST(text, of_json_keeps_all_but_what_is_no_utf8) {
  const nlohmann::ordered_json value{{"name", "a\xFF\n\x1B"}};
  EXPECT_EQ(json_text(value, -1), "{\"name\":\"a\xEF\xBF\xBD\\n\\u001b\"}\n");
  EXPECT_EQ(json_text(value), "{\n  \"name\": \"a\xEF\xBF\xBD\\n\\u001b\"\n}\n");
}

}  // namespace
